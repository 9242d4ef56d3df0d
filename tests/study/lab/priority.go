// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"reflect"
	"time"
	"unsafe"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// prioritized gives each controller the priority queue of controller-runtime, as
// in a real cluster, with a timer that ends: it uses time.Tick for one that fires
// once, and in a bubble the ticks never end.
//
// Another queue would not do.  A controller that comes back to each object after
// a while, as that of Karpenter's state does each minute, would come back to
// deleted ones, and then Karpenter would look at the whole cluster again.
type prioritized struct{ manager.Manager }

type newQueue = func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request]

func (m prioritized) Add(r manager.Runnable) error {
	if f := reflect.ValueOf(r).Elem().FieldByName("NewQueue"); f.IsValid() {
		f.Set(reflect.ValueOf(newQueue(func(_ string, limit workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			// Without a name it has no metrics.
			q := priorityqueue.New("", func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limit })
			tick := reflect.ValueOf(q).Elem().FieldByName("tick")
			*(*func(time.Duration) <-chan time.Time)(unsafe.Pointer(tick.UnsafeAddr())) = time.After
			return q
		})))
	}
	return m.Manager.Add(r)
}
