// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cache makes informers from a Store.  An informer is always in step with the
// store, as far as its handler has come.
type Cache struct{ *Store }

var (
	_ cache.Cache   = Cache{}
	_ client.Client = &Store{}
)

// line is what a watch shows: a creation without before, a deletion without
// after.
type line struct {
	before, after client.Object
	first         bool // of the list that the watch begins with
	at            time.Time
}

// watch has the lines that nobody has taken yet.  The store never waits for
// whoever takes them.
type watch struct {
	lines chan line

	mu     sync.Mutex
	behind int // lines of the list that the handler has not had yet
}

const watchLines = 1 << 16

func (s *Store) watch(t reflect.Type) *watch {
	w := &watch{lines: make(chan line, watchLines)}
	s.mu.Lock()
	k := s.kind(t)
	w.behind = len(k.objects)
	for _, o := range k.objects {
		w.lines <- line{after: o, first: true, at: time.Now()}
	}
	k.watches = append(k.watches, w)
	s.mu.Unlock()
	return w
}

// run hands each line to a handler, in order.
func (w *watch) run(h toolscache.ResourceEventHandler) {
	for l := range w.lines {
		switch {
		case l.before == nil:
			h.OnAdd(l.after, l.first)
		case l.after == nil:
			h.OnDelete(l.before)
		default:
			h.OnUpdate(l.before, l.after)
		}
		if l.first {
			w.mu.Lock()
			w.behind--
			w.mu.Unlock()
		}
	}
}

func (w *watch) HasSynced() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.behind == 0
}

func (w *watch) HasSyncedChecker() toolscache.DoneChecker { return synced{} }

// synced is always done.
type synced struct{}

var done = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (synced) Name() string          { return "lab" }
func (synced) Done() <-chan struct{} { return done }

// informer is one type of a Store.
type informer struct {
	store *Store
	of    reflect.Type
}

func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	w := i.store.watch(i.of)
	go w.run(h)
	return w, nil
}

func (i *informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error { return nil }
func (i *informer) AddIndexers(toolscache.Indexers) error                                { return nil }
func (i *informer) HasSynced() bool                                                      { return true }
func (i *informer) HasSyncedChecker() toolscache.DoneChecker                             { return synced{} }
func (i *informer) IsStopped() bool                                                      { return false }

func (c Cache) GetInformer(_ context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return &informer{c.Store, typeOf(obj)}, nil
}

func (c Cache) GetInformerForKind(_ context.Context, gvk schema.GroupVersionKind, _ ...cache.InformerGetOption) (cache.Informer, error) {
	obj, err := c.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	return &informer{c.Store, typeOf(obj)}, nil
}

func (c Cache) RemoveInformer(context.Context, client.Object) error { return nil }
func (c Cache) WaitForCacheSync(context.Context) bool               { return true }

func (c Cache) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// IndexField does nothing: the store knows each field by which Karpenter
// selects.
func (c Cache) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}
