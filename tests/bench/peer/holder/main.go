// SPDX-License-Identifier: Apache-2.0

// Holder holds every Node with client-go's own means: a metadata informer on
// Nodes, a dynamic informer on NodeClaims, a work queue, and workers that write
// one merge patch for each Node.  It holds all while a NodeClaim that is not
// Initialized exists, and clears all -hold after the last became so.
//
// With -watch-only it keeps the informers and writes nothing.  With -observe it
// writes nothing either, but prints when all Nodes carry the mark, and when
// none does any more; for those that have the label of -label it also prints how
// many there are, and the sum of the times at which each got the mark.
//
// It prints a line when its informers are synced, and one now and then with the
// number of patches that were answered, when the last of them was, and the sum
// of their latencies.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

const (
	hold    = "karpenter.sh/do-not-disrupt"
	mark    = "karpenter-node-holder.io/held-since"
	manager = "karpenter-node-holder" // whose writes deploy/base admits
)

var (
	nodes  = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	claims = schema.GroupVersionResource{
		Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
)

// Times of -observe count from here.
var began = float64(time.Now().UnixMilli()) / 1e3

type holder struct {
	sync.Mutex
	waiting map[string]bool // claims that are launched and not Initialized
	quiet   time.Time       // the scope is quiet from then on
	held    bool
	hold    time.Duration
	client  metadata.Interface
	queue   workqueue.TypedRateLimitingInterface[string]
	store   cache.Store     // of Nodes
	marked  map[string]bool // for -observe
	seen    int
	label   string
	labeled map[string]float64 // when each got the mark; 0: it has none
	patches int
	last    time.Time
	took    time.Duration
	synced  func() bool
}

func condition(o *unstructured.Unstructured, kind string) (bool, time.Time) {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		c, ok := c.(map[string]any)
		if ok && c["type"] == kind && c["status"] == "True" {
			text, _ := c["lastTransitionTime"].(string)
			at, _ := time.Parse(time.RFC3339, text)
			return true, at
		}
	}
	return false, time.Time{}
}

func (h *holder) claim(o *unstructured.Unstructured) {
	launched, _ := condition(o, "Launched")
	ready, at := condition(o, "Initialized")
	h.Lock()
	defer h.Unlock()
	if launched && !ready {
		h.waiting[o.GetName()] = true
	} else {
		delete(h.waiting, o.GetName())
	}
	if quiet := at.Add(h.hold); ready && quiet.After(h.quiet) {
		h.quiet = quiet
	}
}

// turn tells whether all are to be held now, and asks for every object when
// that has changed.
func (h *holder) turn() {
	h.Lock()
	held := len(h.waiting) > 0 || time.Now().Before(h.quiet)
	turned := held != h.held
	h.held = held
	h.Unlock()
	if !turned {
		return
	}
	for _, name := range h.store.ListKeys() {
		h.queue.Add(name)
	}
}

func (h *holder) wants(o metav1.Object) bool {
	h.Lock()
	defer h.Unlock()
	_, marked := o.GetAnnotations()[mark]
	return h.held != marked
}

func (h *holder) sync(ctx context.Context, name string) error {
	found, exists, _ := h.store.GetByKey(name)
	if !exists || !h.wants(found.(metav1.Object)) {
		return nil
	}
	o := found.(metav1.Object)
	h.Lock()
	held := h.held
	h.Unlock()
	values := map[string]any{hold: nil, mark: nil}
	if held {
		values[hold] = "true"
		values[mark] = time.Now().UTC().Format(time.RFC3339)
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": o.GetResourceVersion(), "annotations": values}})
	if err != nil {
		return err
	}
	begun := time.Now()
	_, err = h.client.Resource(nodes).Patch(ctx, name,
		types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: manager})
	h.Lock()
	h.patches++
	h.last = time.Now()
	h.took += h.last.Sub(begun)
	h.Unlock()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (h *holder) work(ctx context.Context) {
	for {
		name, done := h.queue.Get()
		if done {
			return
		}
		if err := h.sync(ctx, name); err != nil {
			h.queue.AddRateLimited(name)
		} else {
			h.queue.Forget(name)
		}
		h.queue.Done(name)
	}
}

// observe prints when the last object got the mark, or lost it.
func (h *holder) observe(resource schema.GroupVersionResource) cache.ResourceEventHandler {
	see := func(found any, gone bool) {
		o, ok := found.(metav1.Object)
		if !ok || resource != nodes {
			return
		}
		_, marked := o.GetAnnotations()[mark]
		name := o.GetName()
		h.Lock()
		defer h.Unlock()
		was, known := h.marked[name]
		switch {
		case gone:
			delete(h.marked, name)
		case !known || was != marked:
			h.marked[name] = marked
		default:
			return
		}
		if known && was {
			h.seen--
		}
		if !gone && marked {
			h.seen++
		}
		now := float64(time.Now().UnixMilli()) / 1e3
		if _, ok := o.GetLabels()[h.label]; ok {
			h.labeled[name] = 0
			if marked {
				h.labeled[name] = now - began
			}
		}
		if h.synced() && (h.seen == 0 || h.seen == len(h.marked)) {
			sum := 0.0
			for _, at := range h.labeled {
				sum += at
			}
			fmt.Printf("marked %d of %d at %.3f labeled %d sum %.3f from %.3f\n",
				h.seen, len(h.marked), now, len(h.labeled), sum, began)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(found any) { see(found, false) },
		UpdateFunc: func(_, found any) { see(found, false) },
		DeleteFunc: func(found any) { see(found, true) },
	}
}

func (h *holder) handler(resource schema.GroupVersionResource) cache.ResourceEventHandler {
	see := func(found any) {
		o, ok := found.(metav1.Object)
		if !ok {
			return
		}
		if claim, ok := found.(*unstructured.Unstructured); ok {
			h.claim(claim)
		}
		if h.synced() {
			h.turn()
			if resource == nodes && h.wants(o) {
				h.queue.Add(o.GetName())
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, found any) { see(found) },
		DeleteFunc: func(found any) {
			if claim, ok := found.(*unstructured.Unstructured); ok {
				h.Lock()
				delete(h.waiting, claim.GetName())
				h.Unlock()
			}
		},
	}
}

func main() {
	config := flag.String("kubeconfig", "", "file")
	workers := flag.Int("workers", 64, "")
	qps := flag.Float64("qps", -1, "client-go's own limit; -1: none")
	duration := flag.Duration("hold", time.Minute, "")
	watch := flag.Bool("watch-only", false, "")
	observe := flag.Bool("observe", false, "")
	label := flag.String("label", "", "for -observe")
	flag.Parse()
	access, err := clientcmd.BuildConfigFromFlags("", *config)
	if err != nil {
		log.Fatal(err)
	}
	access.QPS = float32(*qps)
	access.Burst = 2 * int(*qps)
	ctx, stop := signal.NotifyContext(context.Background(),
		syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	begun := time.Now()
	of := metadata.NewForConfigOrDie(access)
	some := metadatainformer.NewSharedInformerFactory(of, 0)
	whole := dynamicinformer.NewDynamicSharedInformerFactory(
		dynamic.NewForConfigOrDie(access), 0)
	informers := map[schema.GroupVersionResource]cache.SharedIndexInformer{
		nodes:  some.ForResource(nodes).Informer(),
		claims: whole.ForResource(claims).Informer(),
	}
	h := &holder{
		waiting: map[string]bool{}, hold: *duration, client: of,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.DefaultTypedControllerRateLimiter[string]()),
		store:  informers[nodes].GetStore(),
		marked: map[string]bool{}, label: *label,
		labeled: map[string]float64{},
		synced: func() bool {
			return informers[nodes].HasSynced() && informers[claims].HasSynced()
		},
	}
	on := h.handler
	if *observe {
		on = h.observe
	}
	for resource, informer := range informers {
		if !*watch {
			if _, err := informer.AddEventHandler(on(resource)); err != nil {
				log.Fatal(err)
			}
		}
	}
	some.Start(ctx.Done())
	whole.Start(ctx.Done())
	some.WaitForCacheSync(ctx.Done())
	whole.WaitForCacheSync(ctx.Done())
	fmt.Printf("synced %.3f\n", time.Since(begun).Seconds())
	if *watch || *observe {
		<-ctx.Done()
		return
	}
	for range *workers {
		go h.work(ctx)
	}
	// Time, too, turns a scope.
	told := 0
	for ctx.Err() == nil {
		h.turn()
		h.Lock()
		if h.patches != told {
			told = h.patches
			fmt.Printf("patches %d last %.3f took %.3f\n", told,
				float64(h.last.UnixMilli())/1e3, h.took.Seconds())
		}
		h.Unlock()
		time.Sleep(100 * time.Millisecond)
	}
	h.queue.ShutDown()
}
