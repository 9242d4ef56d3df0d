// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"sync"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"

	"lab/core"
)

// How long the holder's calls and watches take.
const (
	callLeast  = 5 * time.Millisecond
	callMost   = 20 * time.Millisecond
	watchDelay = 10 * time.Millisecond
)

// Holder is the daemon around the core: its webhook, its watches and its calls.
// Run's goroutine owns the core.
type Holder struct {
	store *Store
	core  *core.Holder
	lines chan watched
	done  chan answer
	stop  chan struct{}

	mu  sync.Mutex // of rng, which calls use side by side
	rng *rand.Rand
}

// watched is a line of a watch, as JSON.
type watched struct {
	kind core.Kind
	json []byte
}

// answer is what came of a call.
type answer struct {
	call    uint
	code    core.Code
	version string
	objects [][]byte
}

// kinds has what the holder watches.
var kinds = map[core.Kind]client.Object{
	core.Node:      &corev1.Node{},
	core.NodeClaim: &karpenter.NodeClaim{},
	core.NodePool:  &karpenter.NodePool{},
	core.Event:     &corev1.Event{},
}

// NewHolder makes a holder and opens its watches.
func NewHolder(store *Store, config string, seed int64) (*Holder, error) {
	c, err := core.New(config, seed)
	if err != nil {
		return nil, fmt.Errorf("the holder's configuration: %w", err)
	}
	h := &Holder{store: store, core: c, rng: rand.New(rand.NewSource(seed)),
		lines: make(chan watched, watchLines), done: make(chan answer), stop: make(chan struct{})}
	for kind, of := range kinds {
		go h.watch(kind, store.watch(typeOf(of)))
	}
	return h, nil
}

// metadataOf leaves what a PartialObjectMetadata has.
func metadataOf(o client.Object) any {
	meta := reflect.ValueOf(o).Elem().FieldByName("ObjectMeta").Interface()
	return map[string]any{"metadata": meta}
}

// marshal returns the object as the API server sends it: of Nodes, and in a
// fresh list, the metadata alone.
func marshal(o client.Object, metadata bool) []byte {
	var v any = o
	if _, node := o.(*corev1.Node); node || metadata {
		v = metadataOf(o)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// Stop ends everything that NewHolder and Run have begun.
func (h *Holder) Stop() { close(h.stop) }

func (h *Holder) watch(kind core.Kind, w *watch) {
	for {
		var l line
		select {
		case l = <-w.lines:
		case <-h.stop:
			return
		}
		what, o := "MODIFIED", l.after
		if l.before == nil {
			what = "ADDED"
		} else if l.after == nil {
			what, o = "DELETED", l.before
		}
		time.Sleep(time.Until(l.at.Add(watchDelay)))
		h.lines <- watched{kind, fmt.Appendf(nil, `{"type":%q,"object":%s}`, what, marshal(o, false))}
	}
}

// Run is the daemon's sweeper.
func (h *Holder) Run() {
	under := 0
	for {
		wait := core.Forever
		for under < h.core.Lanes {
			s := h.core.Next()
			if s.What == core.Wait {
				wait = s.Wait
				break
			}
			under++
			go h.perform(s)
		}
		select {
		case l := <-h.lines:
			if err := h.core.Line(l.kind, l.json); err != nil {
				panic(fmt.Sprintf("lab: a watch line: %v: %s", err, l.json))
			}
		case a := <-h.done:
			under--
			for _, o := range a.objects {
				if err := h.core.Read(a.call, o); err != nil {
					panic(fmt.Sprintf("lab: an object: %v: %s", err, o))
				}
			}
			h.core.Done(a.call, a.code, a.version)
		case <-time.After(wait):
		case <-h.stop:
			return
		}
	}
}

func (h *Holder) perform(s core.Step) {
	a := h.call(s)
	select {
	case h.done <- a:
	case <-h.stop:
	}
}

// call performs a step at the API server.
func (h *Holder) call(s core.Step) answer {
	h.mu.Lock()
	takes := callLeast + time.Duration(h.rng.Int63n(int64(callMost-callLeast)))
	h.mu.Unlock()
	time.Sleep(takes / 2)
	defer time.Sleep(takes / 2)
	a := answer{call: s.Call}
	if s.What == core.List {
		a.objects = h.list(s.Kind)
		return a
	}
	o := reflect.New(typeOf(kinds[s.Kind])).Interface().(client.Object)
	o.SetName(s.Name)
	var err error
	switch s.What {
	case core.Get:
		if err = h.store.Get(context.Background(), client.ObjectKeyFromObject(o), o); err == nil {
			a.objects = [][]byte{marshal(o, false)}
		}
	case core.MergePatch:
		err = h.store.Patch(context.Background(), o, client.RawPatch(types.MergePatchType, s.Body))
	case core.JSONPatch:
		err = h.store.Patch(context.Background(), o, client.RawPatch(types.JSONPatchType, s.Body))
	}
	a.code, a.version = codeOf(err), o.GetResourceVersion()
	return a
}

func codeOf(err error) core.Code {
	switch {
	case err == nil:
		return core.OK
	case apierrors.IsNotFound(err):
		return core.Gone
	case apierrors.IsConflict(err):
		return core.Conflict
	case apierrors.IsInvalid(err):
		return core.Invalid
	}
	return core.Refused
}

func (h *Holder) list(kind core.Kind) (items [][]byte) {
	if kind == core.NodePool {
		for _, o := range all[*karpenter.NodePool](h.store) {
			items = append(items, marshal(o, true))
		}
		return items
	}
	for _, o := range all[*karpenter.NodeClaim](h.store) {
		items = append(items, marshal(o, true))
	}
	return items
}

// --- the webhook -------------------------------------------------------------

// resources has those that the webhook is registered for.
var resources = map[reflect.Type]metav1.GroupVersionResource{
	typeOf(&corev1.Node{}):         {Version: "v1", Resource: "nodes"},
	typeOf(&karpenter.NodeClaim{}): {Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"},
}

// Admit sends a review of a new object to the webhook, and applies its patch.
func (h *Holder) Admit(obj client.Object) {
	resource, ok := resources[typeOf(obj)]
	if !ok {
		return
	}
	raw := must(json.Marshal(obj))
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "1", Resource: resource, Operation: admissionv1.Create, Name: obj.GetName(),
			Object: runtime.RawExtension{Raw: raw}},
	}
	reply := must(h.core.Review(must(json.Marshal(review))))
	if err := json.Unmarshal(reply, &review); err != nil {
		panic(err)
	}
	if len(review.Response.Patch) == 0 {
		return
	}
	patch := must(jsonpatch.DecodePatch(review.Response.Patch))
	after := reflect.New(typeOf(obj)).Interface().(client.Object)
	if err := json.Unmarshal(must(patch.Apply(raw)), after); err != nil {
		panic(err)
	}
	obj.SetAnnotations(after.GetAnnotations())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// --- Karpenter's Events ------------------------------------------------------

// ignored are the reasons that the selector of the holder's watch leaves out
// (DISRUPTION_EVENTS_SELECTOR in include/wire/api/disruption_event.h).
var ignored = map[string]bool{
	"DisruptionBlocked": true, "Unconsolidatable": true,
	"ConsolidationCandidate": true, "ConsolidationRejected": true,
}

// recorder stores Karpenter's Events about NodeClaims: nobody watches others.
type recorder struct{ store *Store }

var _ record.EventRecorder = recorder{}

func (r recorder) Event(about runtime.Object, kind, reason, message string) {
	claim, ok := about.(*karpenter.NodeClaim)
	if !ok || ignored[reason] {
		return
	}
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: claim.Name + "."},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: claim.Name, UID: claim.UID},
		Type: kind, Reason: reason, Message: message,
	}
	go func() { _ = r.store.Create(context.Background(), e) }()
}

func (r recorder) Eventf(about runtime.Object, kind, reason, format string, args ...any) {
	r.Event(about, kind, reason, fmt.Sprintf(format, args...))
}

func (r recorder) AnnotatedEventf(about runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	r.Event(about, kind, reason, fmt.Sprintf(format, args...))
}
