// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A controller that comes back to each object after a minute does not come back
// to one that has been deleted meanwhile.
func TestNothingComesBackToWhatIsGone(t *testing.T) {
	log.SetLogger(logr.Discard())
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(ctx)
		s := newStore()
		mgr, err := newManager(ctx, s, meta.NewDefaultRESTMapper(nil))
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		err = ctrl.NewControllerManagedBy(mgr).Named("nodes").For(&corev1.Node{}).Complete(reconcile.Func(
			func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				calls++
				if s.Get(ctx, req.NamespacedName, &corev1.Node{}) != nil {
					return reconcile.Result{}, nil
				}
				return reconcile.Result{RequeueAfter: time.Minute}, nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan error)
		go func() { over <- mgr.Start(ctx) }()
		time.Sleep(time.Second)
		n := created(t, s, newNode())
		time.Sleep(90 * time.Second)
		if calls != 2 {
			t.Errorf("%d calls in 90 s, expected 2", calls)
		}
		if err := s.Delete(ctx, n); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if calls != 3 {
			t.Errorf("%d calls after the deletion, expected 1", calls-2)
		}
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
		for _, k := range s.kinds { // in a bubble all has to end
			for _, w := range k.watches {
				close(w.lines)
			}
		}
	})
}
