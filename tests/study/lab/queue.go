// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The queue of kube-scheduler 1.36 (pkg/scheduler/backend/queue).  A pod that
// fits nowhere is tried again when a Node comes or opens, or when a pod goes.
// It waits for its backoff only while others wait that are not backing off
// (SchedulerPopFromBackoffQ, which is on by default).  Where there is no Node at
// all, kube-scheduler takes that for an error, and then a pod does wait.
//
// The order in which pods are tried decides which of them get the place on a new
// Node.  It is not that in which they were created: a Node that opens while pods
// are tried goes to those that have not been tried yet.

// queued is what the queue knows of a pod that waits.
type queued struct {
	in     queue
	since  time.Time // when it was created, or last tried
	until  time.Time // the end of its backoff
	tries  int       // without success
	errors int       // tries without any Node
}

type queue int

const (
	active queue = iota
	backingOff
	unschedulable // until something changes
	failed        // until its backoff ends
)

// How long kube-scheduler takes to see a change, for a pod that fits, and for
// one that does not: up to twice that.  Measured in runs of make study.
const (
	scheduleAfter = 10 * time.Millisecond
	fitTakes      = 2 * time.Millisecond
	failTakes     = 5 * time.Millisecond
)

// The backoff is doubled from the first to the last, and is in full seconds.
const (
	backoffFirst = time.Second
	backoffLast  = 10 * time.Second
)

func backoff(tries int) time.Duration {
	return min(backoffFirst<<min(tries-1, 4), backoffLast)
}

// before says whether kube-scheduler tries q before r.
func (q *queued) before(r *queued) bool {
	switch {
	case q.in != r.in:
		return q.in == active
	case q.in == backingOff && !q.until.Equal(r.until):
		return q.until.Before(r.until)
	}
	return q.since.Before(r.since)
}

// kick makes kube-scheduler look at the pods that wait.
func (c *Cluster) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// moved is called when pods may fit that did not.
func (c *Cluster) moved() {
	c.changes++
	second := time.Now().Truncate(time.Second)
	for _, p := range c.waiting {
		if p.in == unschedulable {
			p.in = active
			if !p.until.Before(second) {
				p.in = backingOff
			}
		}
	}
	c.kick()
}

// schedule runs for the whole run.
func (c *Cluster) schedule() {
	for range c.wake {
		time.Sleep(scheduleAfter)
		c.mu.Lock()
		for p := c.next(); p != nil; p = c.next() {
			c.try(p)
		}
		c.mu.Unlock()
	}
}

// next returns the pod that is tried next, or nil.
func (c *Cluster) next() *pod {
	var first *pod
	for _, p := range c.waiting {
		if p.in <= backingOff && (first == nil || p.before(&first.queued) ||
			!first.before(&p.queued) && p.serial < first.serial) {
			first = p
		}
	}
	return first
}

// try binds the pod, or puts it back.
func (c *Cluster) try(p *pod) {
	if len(c.nodes) == 0 {
		c.fail(p)
	} else if n := c.choose(p); n != nil {
		c.bind(p, n)
		c.outside(func() { time.Sleep(fitTakes) })
		return
	} else {
		changes, takes := c.changes, failTakes+time.Duration(c.rng.Int63n(int64(failTakes)))
		c.outside(func() { time.Sleep(takes) })
		p.tries++
		p.since = time.Now()
		p.until = p.since.Add(backoff(p.tries)).Truncate(time.Second)
		p.in = unschedulable
		if c.changes != changes {
			p.in = backingOff
		}
	}
	if c.waiting[p.name] == p && !p.said {
		p.said = true
		c.outside(func() { change(c.store, p.key(), sayUnschedulable) })
	}
}

// fail tries the pod again after its backoff.  kube-scheduler looks each full
// second whose backoff has ended.
func (c *Cluster) fail(p *pod) {
	p.errors++
	p.in = failed
	ends := time.Now().Add(backoff(p.errors)).Truncate(time.Second).Add(time.Second)
	time.AfterFunc(time.Until(ends), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		p.in = active
		c.kick()
	})
}

// sayUnschedulable makes Karpenter see the pod.
func sayUnschedulable(o *corev1.Pod) {
	o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.Now()})
}
