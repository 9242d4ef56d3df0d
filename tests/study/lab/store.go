// SPDX-License-Identifier: Apache-2.0

// Package lab plays a load on Karpenter's own controllers in virtual time.
//
// A run is one testing/synctest bubble.  In it, Karpenter's controllers run
// unmodified on a real controller-runtime Manager.  In place of an API server
// they have a Store, and a Cluster plays kube-scheduler, the controllers of
// workloads, and kwok.  The holder is the project's own core (package core).
package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Store is an API server in memory.  It is a client.Client, and by its Cache
// also a cache.Cache.  A stored object is never changed: each write stores
// another one, so readers that only look need no copy.
//
// Two functions belong to the Cluster.  They are set before the first write.
type Store struct {
	// Admit sees an object before it is created, and may change it.  It is
	// called without a lock and may sleep.
	Admit func(ctx context.Context, obj client.Object)
	// Written sees each write, under the store's lock: it must not call the
	// store.  before is nil for a creation, after is nil for a deletion.
	Written func(before, after client.Object)
	// Evict handles an eviction of the pod.
	Evict func(pod *corev1.Pod) error

	scheme *runtime.Scheme
	mapper meta.RESTMapper

	mu      sync.Mutex
	kinds   map[reflect.Type]*kind
	onNode  map[string]map[types.NamespacedName]*corev1.Pod
	version int64
	uids    int64
	names   *rand.Rand
}

// kind has all objects of one type, and who watches them.
type kind struct {
	resource schema.GroupResource
	objects  map[types.NamespacedName]client.Object
	watches  []*watch
}

func NewStore(scheme *runtime.Scheme, mapper meta.RESTMapper, seed int64) *Store {
	return &Store{
		scheme: scheme, mapper: mapper,
		kinds:  map[reflect.Type]*kind{},
		onNode: map[string]map[types.NamespacedName]*corev1.Pod{},
		names:  rand.New(rand.NewSource(seed)),
	}
}

// kind must be called under the lock.
func (s *Store) kind(t reflect.Type) *kind {
	k := s.kinds[t]
	if k == nil {
		k = &kind{
			resource: schema.GroupResource{Resource: strings.ToLower(t.Name()) + "s"},
			objects:  map[types.NamespacedName]client.Object{},
		}
		s.kinds[t] = k
	}
	return k
}

func typeOf(o any) reflect.Type { return reflect.TypeOf(o).Elem() }

func copyOf[T client.Object](o T) T { return o.DeepCopyObject().(T) }

// assign makes *to what *from is.
func assign(to, from client.Object) {
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem())
}

// --- reading -----------------------------------------------------------------

func (s *Store) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	k := s.kind(typeOf(obj))
	o := k.objects[key]
	s.mu.Unlock()
	if o == nil {
		return apierrors.NewNotFound(k.resource, key.Name)
	}
	assign(obj, copyOf(o))
	return nil
}

// fields has each field by which Karpenter selects.
var fields = map[reflect.Type]map[string]func(client.Object) string{
	typeOf(&corev1.Pod{}): {
		"spec.nodeName": func(o client.Object) string { return o.(*corev1.Pod).Spec.NodeName },
	},
	typeOf(&corev1.Node{}): {
		"spec.providerID": func(o client.Object) string { return o.(*corev1.Node).Spec.ProviderID },
	},
	typeOf(&karpenter.NodeClaim{}): {
		"status.providerID":       func(o client.Object) string { return o.(*karpenter.NodeClaim).Status.ProviderID },
		"spec.nodeClassRef.group": func(o client.Object) string { return o.(*karpenter.NodeClaim).Spec.NodeClassRef.Group },
		"spec.nodeClassRef.kind":  func(o client.Object) string { return o.(*karpenter.NodeClaim).Spec.NodeClassRef.Kind },
		"spec.nodeClassRef.name":  func(o client.Object) string { return o.(*karpenter.NodeClaim).Spec.NodeClassRef.Name },
	},
	typeOf(&karpenter.NodePool{}): {
		"spec.template.spec.nodeClassRef.group": func(o client.Object) string {
			return o.(*karpenter.NodePool).Spec.Template.Spec.NodeClassRef.Group
		},
		"spec.template.spec.nodeClassRef.kind": func(o client.Object) string {
			return o.(*karpenter.NodePool).Spec.Template.Spec.NodeClassRef.Kind
		},
		"spec.template.spec.nodeClassRef.name": func(o client.Object) string {
			return o.(*karpenter.NodePool).Spec.Template.Spec.NodeClassRef.Name
		},
	},
}

func selects(o client.Object, lo *client.ListOptions) bool {
	if lo.Namespace != "" && o.GetNamespace() != lo.Namespace {
		return false
	}
	if lo.LabelSelector != nil && !lo.LabelSelector.Matches(labels.Set(o.GetLabels())) {
		return false
	}
	if lo.FieldSelector == nil {
		return true
	}
	for _, r := range lo.FieldSelector.Requirements() {
		of := fields[typeOf(o)][r.Field]
		if of == nil {
			panic(fmt.Sprintf("lab: %T is selected by %s, which the store does not know", o, r.Field))
		}
		if of(o) != r.Value {
			return false
		}
	}
	return true
}

// selected returns the stored objects of a type.  Karpenter asks for the pods
// of a node all the time, so the store keeps these together.
func (s *Store) selected(t reflect.Type, lo *client.ListOptions) []client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []client.Object
	if t == typeOf(&corev1.Pod{}) && lo.FieldSelector != nil {
		if node, ok := lo.FieldSelector.RequiresExactMatch("spec.nodeName"); ok {
			for _, p := range s.onNode[node] {
				if selects(p, lo) {
					found = append(found, p)
				}
			}
			return found
		}
	}
	for _, o := range s.kind(t).objects {
		if selects(o, lo) {
			found = append(found, o)
		}
	}
	return found
}

func (s *Store) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	lo := &client.ListOptions{}
	lo.ApplyOptions(opts)
	shared := lo.UnsafeDisableDeepCopy != nil && *lo.UnsafeDisableDeepCopy
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	elem := items.Type().Elem()
	pointers := elem.Kind() == reflect.Pointer
	if pointers {
		elem = elem.Elem()
	}
	found := s.selected(elem, lo)
	out := reflect.MakeSlice(items.Type(), 0, len(found))
	for _, o := range found {
		if !shared {
			o = copyOf(o)
		}
		v := reflect.ValueOf(o)
		if !pointers {
			v = v.Elem()
		}
		out = reflect.Append(out, v)
	}
	items.Set(out)
	return nil
}

// all returns the stored objects of a type.  They must not be changed.
func all[T client.Object](s *Store) []T {
	var zero T
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kind(typeOf(zero))
	out := make([]T, 0, len(k.objects))
	for _, o := range k.objects {
		out = append(out, o.(T))
	}
	return out
}

// --- writing -----------------------------------------------------------------

// truncate does to times what JSON does.
func truncate(o client.Object) {
	claim, ok := o.(*karpenter.NodeClaim)
	if !ok {
		return
	}
	claim.Status.LastPodEventTime.Time = claim.Status.LastPodEventTime.Truncate(time.Second)
	for i := range claim.Status.Conditions {
		at := &claim.Status.Conditions[i].LastTransitionTime
		at.Time = at.Truncate(time.Second)
	}
}

// put stores after in place of before, and tells everybody.  Either may be nil.
// It must be called under the lock.
func (s *Store) put(k *kind, key types.NamespacedName, before, after client.Object) {
	if after == nil {
		delete(k.objects, key)
	} else {
		s.version++
		after.SetResourceVersion(strconv.FormatInt(s.version, 10))
		truncate(after)
		k.objects[key] = after
	}
	if p, ok := before.(*corev1.Pod); ok {
		delete(s.onNode[p.Spec.NodeName], key)
		if len(s.onNode[p.Spec.NodeName]) == 0 {
			delete(s.onNode, p.Spec.NodeName)
		}
	}
	if p, ok := after.(*corev1.Pod); ok {
		if s.onNode[p.Spec.NodeName] == nil {
			s.onNode[p.Spec.NodeName] = map[types.NamespacedName]*corev1.Pod{}
		}
		s.onNode[p.Spec.NodeName][key] = p
	}
	for _, w := range k.watches {
		w.lines <- line{before: before, after: after, at: time.Now()}
	}
	if s.Written != nil {
		s.Written(before, after)
	}
}

const nameLetters = "bcdfghjklmnpqrstvwxz2456789" // as the API server's

func (s *Store) newName(prefix string) string {
	name := []byte(prefix)
	for range 5 {
		name = append(name, nameLetters[s.names.Intn(len(nameLetters))])
	}
	return string(name)
}

func (s *Store) Create(ctx context.Context, obj client.Object, _ ...client.CreateOption) error {
	if s.Admit != nil {
		s.Admit(ctx, obj)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if obj.GetName() == "" {
		obj.SetName(s.newName(obj.GetGenerateName()))
	}
	k := s.kind(typeOf(obj))
	key := client.ObjectKeyFromObject(obj)
	if k.objects[key] != nil {
		return apierrors.NewAlreadyExists(k.resource, key.Name)
	}
	s.uids++
	obj.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.uids)))
	obj.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	obj.SetGeneration(1)
	after := copyOf(obj)
	s.put(k, key, nil, after)
	obj.SetResourceVersion(after.GetResourceVersion())
	return nil
}

// podGraceSeconds is terminationGracePeriodSeconds of every pod.
const podGraceSeconds = 30

func (s *Store) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	_, err := s.delete(obj, nil)
	return err
}

// delete begins or finishes a deletion.  mark, which may be nil, changes the
// object that is left.  It returns whether anything has changed.
func (s *Store) delete(obj client.Object, mark func(client.Object)) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kind(typeOf(obj))
	key := client.ObjectKeyFromObject(obj)
	before := k.objects[key]
	if before == nil {
		return false, apierrors.NewNotFound(k.resource, key.Name)
	}
	stays := len(before.GetFinalizers()) > 0
	grace := time.Duration(0)
	if pod, ok := before.(*corev1.Pod); ok && pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded {
		stays, grace = true, podGraceSeconds*time.Second
	}
	if !stays {
		s.put(k, key, before, nil)
		return true, nil
	}
	if before.GetDeletionTimestamp() != nil {
		return false, nil
	}
	after := copyOf(before)
	at := metav1.NewTime(time.Now().Add(grace).Truncate(time.Second))
	after.SetDeletionTimestamp(&at)
	if grace > 0 {
		seconds := int64(grace / time.Second)
		after.SetDeletionGracePeriodSeconds(&seconds)
	}
	if mark != nil {
		mark(after)
	}
	s.put(k, key, before, after)
	return true, nil
}

// remove deletes an object for good, if it is there.
func (s *Store) remove(obj client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kind(typeOf(obj))
	key := client.ObjectKeyFromObject(obj)
	if before := k.objects[key]; before != nil {
		s.put(k, key, before, nil)
	}
}

// change stores what f makes of the object, if it is there.
func change[T client.Object](s *Store, obj T, f func(T)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kind(typeOf(obj))
	key := client.ObjectKeyFromObject(obj)
	before := k.objects[key]
	if before == nil {
		return
	}
	after := copyOf(before).(T)
	f(after)
	s.put(k, key, before, after)
}

// setStatus gives to the status that from has.
func setStatus(to, from client.Object) {
	switch o := to.(type) {
	case *corev1.Pod:
		from.(*corev1.Pod).Status.DeepCopyInto(&o.Status)
	case *corev1.Node:
		from.(*corev1.Node).Status.DeepCopyInto(&o.Status)
	case *karpenter.NodeClaim:
		from.(*karpenter.NodeClaim).Status.DeepCopyInto(&o.Status)
	case *karpenter.NodePool:
		from.(*karpenter.NodePool).Status.DeepCopyInto(&o.Status)
	default:
		panic(fmt.Sprintf("lab: the store does not know the status of %T", to))
	}
}

// hasStatus says whether a write without the subresource leaves the status.
func hasStatus(o client.Object) bool {
	switch o.(type) {
	case *corev1.Pod, *corev1.Node, *karpenter.NodeClaim, *karpenter.NodePool:
		return true
	}
	return false
}

// patched returns what the patch makes of before.  With an optimistic lock,
// before may be another object than the patch is for.
func patched(before, obj client.Object, patch client.Patch) (client.Object, error) {
	data, err := patch.Data(obj)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	switch patch.Type() {
	case types.MergePatchType:
		raw, err = jsonpatch.MergePatch(raw, data)
	case types.JSONPatchType:
		var p jsonpatch.Patch
		if p, err = jsonpatch.DecodePatch(data); err == nil {
			raw, err = p.Apply(raw)
		}
	default:
		panic("lab: a patch of type " + string(patch.Type()))
	}
	if err != nil {
		return nil, err
	}
	after := reflect.New(typeOf(before)).Interface().(client.Object)
	return after, json.Unmarshal(raw, after)
}

func (s *Store) patch(obj client.Object, patch client.Patch, status bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kind(typeOf(obj))
	key := client.ObjectKeyFromObject(obj)
	before := k.objects[key]
	if before == nil {
		return apierrors.NewNotFound(k.resource, key.Name)
	}
	// A patch that was made from what is stored says the same as the object
	// beside it, which spares the JSON.
	whole := obj
	if obj.GetResourceVersion() != before.GetResourceVersion() {
		var err error
		if whole, err = patched(before, obj, patch); err != nil {
			return apierrors.NewInvalid(schema.GroupKind{Kind: k.resource.Resource}, key.Name, nil)
		}
		if rv := whole.GetResourceVersion(); rv != before.GetResourceVersion() {
			return apierrors.NewConflict(k.resource, key.Name, fmt.Errorf("the object has been modified"))
		}
	}
	var after client.Object
	if status {
		after = copyOf(before)
		setStatus(after, whole)
	} else {
		after = copyOf(whole)
		if hasStatus(before) {
			setStatus(after, before)
		}
	}
	after.SetResourceVersion(before.GetResourceVersion())
	truncate(after)
	switch {
	case equality.Semantic.DeepEqual(before, after):
		after = before
	case after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0:
		s.put(k, key, before, nil)
	default:
		s.put(k, key, before, after)
	}
	assign(obj, copyOf(after))
	return nil
}

func (s *Store) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return s.patch(obj, patch, false)
}

// Karpenter's controllers do not call these.
func (s *Store) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	panic(fmt.Sprintf("lab: Update of %T", obj))
}

func (s *Store) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	panic("lab: Apply")
}

func (s *Store) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	panic("lab: DeleteAllOf")
}

func (s *Store) Scheme() *runtime.Scheme     { return s.scheme }
func (s *Store) RESTMapper() meta.RESTMapper { return s.mapper }

func (s *Store) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, s.scheme)
}

func (s *Store) IsObjectNamespaced(o runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(o, s.scheme, s.mapper)
}

func (s *Store) Status() client.SubResourceWriter { return &subresource{s, "status"} }

func (s *Store) SubResource(name string) client.SubResourceClient { return &subresource{s, name} }

// subresource is the status of an object, or the eviction of a pod.
type subresource struct {
	store *Store
	name  string
}

func (r *subresource) Create(_ context.Context, obj client.Object, _ client.Object, _ ...client.SubResourceCreateOption) error {
	if r.name != "eviction" {
		panic("lab: creation of the subresource " + r.name)
	}
	return r.store.Evict(obj.(*corev1.Pod))
}

func (r *subresource) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return r.store.patch(obj, patch, true)
}

func (r *subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	panic("lab: Get of the subresource " + r.name)
}

func (r *subresource) Update(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
	panic("lab: Update of the subresource " + r.name)
}

func (r *subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	panic("lab: Apply of the subresource " + r.name)
}
