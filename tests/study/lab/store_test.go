// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
)

var ctx = context.Background()

func newStore() *Store { return NewStore(scheme.Scheme, meta.NewDefaultRESTMapper(nil), 1) }

func created[T client.Object](t *testing.T, s *Store, o T) T {
	t.Helper()
	if err := s.Create(ctx, o); err != nil {
		t.Fatal(err)
	}
	return o
}

func newNode() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{"a": "1"}}}
}

// What is read belongs to the reader, and what was read earlier stays as it is.
func TestReadersOwnWhatTheyRead(t *testing.T) {
	s := newStore()
	created(t, s, newNode())
	var one, two corev1.Node
	if err := s.Get(ctx, types.NamespacedName{Name: "n"}, &one); err != nil {
		t.Fatal(err)
	}
	one.Annotations["a"] = "mine"
	change(s, &two, func(*corev1.Node) { t.Fatal("there is no such Node") })
	if err := s.Get(ctx, types.NamespacedName{Name: "n"}, &two); err != nil {
		t.Fatal(err)
	}
	if two.Annotations["a"] != "1" {
		t.Errorf("another reader sees %q", two.Annotations["a"])
	}
}

func TestPatches(t *testing.T) {
	s := newStore()
	before := created(t, s, newNode())
	for _, c := range []struct {
		name  string
		kind  types.PatchType
		patch string
		is    func(error) bool // nil: it succeeds
		want  string           // the annotation a afterwards
		same  bool             // the resourceVersion does not change
	}{
		{"a merge", types.MergePatchType, `{"metadata":{"annotations":{"a":"2"}}}`, nil, "2", false},
		{"the same again", types.MergePatchType, `{"metadata":{"annotations":{"a":"2"}}}`, nil, "2", true},
		{"of an old version", types.MergePatchType,
			`{"metadata":{"resourceVersion":"` + before.ResourceVersion + `","annotations":{"a":"3"}}}`,
			apierrors.IsConflict, "2", true},
		{"a test that fails", types.JSONPatchType,
			`[{"op":"test","path":"/metadata/annotations/a","value":"9"},{"op":"remove","path":"/metadata/annotations/a"}]`,
			apierrors.IsInvalid, "2", true},
		{"a test that holds", types.JSONPatchType,
			`[{"op":"test","path":"/metadata/annotations/a","value":"2"},{"op":"remove","path":"/metadata/annotations/a"}]`,
			nil, "", false},
	} {
		was, now := newNode(), newNode()
		key := client.ObjectKeyFromObject(was)
		if err := s.Get(ctx, key, was); err != nil {
			t.Fatal(err)
		}
		err := s.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, client.RawPatch(c.kind, []byte(c.patch)))
		if c.is == nil && err != nil || c.is != nil && !c.is(err) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := s.Get(ctx, key, now); err != nil {
			t.Fatal(err)
		}
		if now.Annotations["a"] != c.want || (now.ResourceVersion == was.ResourceVersion) != c.same {
			t.Errorf("%s: %q, version %s after %s", c.name, now.Annotations["a"], now.ResourceVersion, was.ResourceVersion)
		}
	}
}

// A write without the subresource leaves the status, and the reverse.
func TestStatusIsApart(t *testing.T) {
	s := newStore()
	o := created(t, s, newNode())
	from := client.MergeFrom(o.DeepCopy())
	o.Annotations["a"], o.Status.Phase = "2", corev1.NodeRunning
	both := o.DeepCopy()
	if err := s.Patch(ctx, o, from); err != nil || o.Annotations["a"] != "2" || o.Status.Phase != "" {
		t.Errorf("%v, %q, %q", err, o.Annotations["a"], o.Status.Phase)
	}
	both.Annotations["a"] = "3"
	if err := s.Status().Patch(ctx, both, from); err != nil || both.Annotations["a"] != "2" || both.Status.Phase != corev1.NodeRunning {
		t.Errorf("%v, %q, %q", err, both.Annotations["a"], both.Status.Phase)
	}
}

func TestFinalizersDelayTheEnd(t *testing.T) {
	s := newStore()
	o := created(t, s, &karpenter.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Finalizers: []string{"f/f"}}})
	if err := s.Delete(ctx, o); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(o)
	if err := s.Get(ctx, key, o); err != nil || o.DeletionTimestamp == nil {
		t.Fatalf("%v, %v", err, o.DeletionTimestamp)
	}
	from := client.MergeFrom(o.DeepCopy())
	o.Finalizers = nil
	if err := s.Patch(ctx, o, from); err != nil {
		t.Fatal(err)
	}
	if err := s.Get(ctx, key, o); !apierrors.IsNotFound(err) {
		t.Errorf("%v", err)
	}
}

// The holder with its watches and calls: a new NodeClaim is held at admission,
// and released when its quiet time is over, with the core's own patch.
func TestHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		h, err := NewHolder(s, `{"apiVersion":"karpenter-node-holder.io/v1","kind":"HolderConfig","holdDuration":"1m"}`, 1)
		if err != nil {
			t.Fatal(err)
		}
		s.Admit = func(_ context.Context, o client.Object) { h.Admit(o) }
		go h.Run()
		created(t, s, &karpenter.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: karpenter.NodePoolSpec{
			Disruption: karpenter.Disruption{ConsolidateAfter: karpenter.MustParseNillableDuration("0s")}}})
		c := created(t, s, &karpenter.NodeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: "c", Labels: map[string]string{NodePoolLabel: "web"}}})
		if c.Annotations[karpenter.DoNotDisruptAnnotationKey] != "true" {
			t.Fatalf("not held at admission: %v", c.Annotations)
		}
		now := metav1.Now()
		raw, _ := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Launched", "status": "True", "reason": "x", "lastTransitionTime": now},
			map[string]any{"type": "Initialized", "status": "True", "reason": "x", "lastTransitionTime": now}}}})
		key := &karpenter.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
		if err := s.Status().Patch(ctx, key, client.RawPatch(types.MergePatchType, raw)); err != nil {
			t.Fatal(err)
		}
		held := func() bool {
			o := &karpenter.NodeClaim{}
			if err := s.Get(ctx, client.ObjectKeyFromObject(c), o); err != nil {
				t.Fatal(err)
			}
			return o.Annotations[karpenter.DoNotDisruptAnnotationKey] != ""
		}
		time.Sleep(55 * time.Second)
		if !held() {
			t.Error("released after 55 s")
		}
		time.Sleep(10 * time.Second)
		if held() {
			t.Error("still held after 65 s")
		}
		h.Stop()
	})
}

func TestHolderSaysWhatIsWrongWithItsConfiguration(t *testing.T) {
	_, err := NewHolder(newStore(), `{"apiVersion":"karpenter-node-holder.io/v1","kind":"HolderConfig","holdDuration":"soon"}`, 1)
	if err == nil {
		t.Fatal("expected an error")
	}
	t.Log(err)
}
