// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"math"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	jobBackoffFirst = 10 * time.Second // the Job controller's, doubled each time
	jobBackoffLast  = 10 * time.Minute
	// Each controller of kube-controller-manager creates so many pods a second,
	// after a burst.
	createsASecond = 20
	createsAtOnce  = 30
	createTakes    = 3 * time.Millisecond // measured in runs of make study

	restartSurge = 4 // maxSurge of a Deployment: a quarter
	restartPoll  = time.Second
)

// workload is a Deployment or a Job.
type workload struct {
	namespace, name    string
	job                bool
	template           *corev1.PodTemplateSpec
	replicas           int
	requests, counted  amount // of a pod, and what kube-scheduler counts for it
	revision           int    // of a Deployment: its ReplicaSet
	ready, lives, ends time.Duration
	pods               map[string]*pod // neither deleted nor done
	wanted             []step
	deleted            bool
	failures           int    // of a Job, since a pod of it ended well
	budget             bool   // it has a PodDisruptionBudget
	ttl                *int32 // of a Job: ttlSecondsAfterFinished
}

// step is a number of replicas, and since when it is asked for.
type step struct {
	at       time.Time
	replicas int
}

// pod is what happened to a Pod.
type pod struct {
	name   string
	serial int // of all pods of a run
	uid    int64
	of     *workload
	node   string
	// revision is that of the workload when the pod was made.
	revision int

	created, bound, running, evicted, deleting, ended, gone time.Time
	queued
	said bool // by kube-scheduler: it fits nowhere
}

func (p *pod) key() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.of.namespace, Name: p.name}}
}

// outside calls f, which may call the store, without holding mu.
func (c *Cluster) outside(f func()) {
	c.mu.Unlock()
	defer c.mu.Lock()
	f()
}

// newWorkload makes a workload of an event that creates.
func newWorkload(e *Event) *workload {
	t := e.template()
	w := &workload{
		namespace: e.Key[:len(e.Key)-len(e.name())-1], name: e.name(), job: e.Kind == "Job", template: t,
		ready: delay(t, readyAfter), ends: delay(t, endsAfter), pods: map[string]*pod{},
	}
	w.count()
	w.replicas = 1
	if w.job {
		w.lives = delay(t, livesFor)
		w.ttl = e.Job.Spec.TTLSecondsAfterFinished
		if n := e.Job.Spec.Parallelism; n != nil {
			w.replicas = int(*n)
		}
	} else if n := e.Deployment.Spec.Replicas; n != nil {
		w.replicas = int(*n)
	}
	return w
}

// count adds up what a pod of the template asks for.
func (w *workload) count() {
	for i := range w.template.Spec.Containers {
		requests := w.template.Spec.Containers[i].Resources.Requests
		one := amount{requests.Cpu().MilliValue(), requests.Memory().Value()}
		w.requests = w.requests.plus(one)
		if one.cpu == 0 {
			one.cpu = countedCPU
		}
		if one.memory == 0 {
			one.memory = countedMemory
		}
		w.counted = w.counted.plus(one)
	}
}

// scale asks for another number of pods.
func (c *Cluster) scale(w *workload, replicas int) {
	w.replicas = replicas
	w.wanted = append(w.wanted, step{time.Now(), replicas})
	c.budget(w)
	c.reconcileAfter(0, w)
}

func (w *workload) owner() metav1.OwnerReference {
	controller := true
	if w.job {
		return metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: w.name,
			UID: types.UID("job-" + w.name), Controller: &controller}
	}
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: w.name + "-1",
		UID: types.UID("rs-" + w.name), Controller: &controller}
}

func (c *Cluster) newPod(w *workload) {
	c.serial++
	p := &pod{name: fmt.Sprintf("%s-%d", w.name, c.serial), serial: c.serial, uid: c.rng.Int63(), of: w, revision: w.revision, created: time.Now()}
	p.since = p.created
	c.pods[p.name], c.waiting[p.name], w.pods[p.name] = p, p, p
	grace := int64(podGraceSeconds)
	o := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: p.name, Labels: w.template.Labels, Annotations: w.template.Annotations,
			OwnerReferences: []metav1.OwnerReference{w.owner()}},
		Spec:   *w.template.Spec.DeepCopy(),
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	o.Spec.TerminationGracePeriodSeconds = &grace
	creates := c.creates[w.job]
	c.outside(func() {
		if err := c.store.Create(context.Background(), o); err != nil {
			panic(err)
		}
		c.kick()
		time.Sleep(createTakes)
		creates.Accept()
	})
}

// reconcileAfter reconciles without making the caller wait for it.
func (c *Cluster) reconcileAfter(d time.Duration, w *workload) {
	time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reconcile(w)
	})
}

// reconcile makes or deletes pods until there are as many as asked for.
func (c *Cluster) reconcile(w *workload) {
	for len(w.pods) < w.replicas && !w.deleted {
		c.newPod(w)
	}
	if len(w.pods) <= w.replicas {
		return
	}
	for _, p := range c.victims(w)[:len(w.pods)-w.replicas] {
		if w.pods[p.name] != nil && len(w.pods) > w.replicas {
			c.deletePod(p)
		}
	}
}

// victims returns the pods of a ReplicaSet in the order in which it deletes
// them (ActivePodsWithRanks in kubernetes/pkg/controller).  The ranks are those
// from before the scale-down: the controller computes them once.  Of pods that
// became ready at about the same time, the uid decides, that is, chance.
func (c *Cluster) victims(w *workload) []*pod {
	rank := map[string]int{}
	var of []*pod
	for _, p := range w.pods {
		rank[p.node]++
		of = append(of, p)
	}
	now := time.Now()
	age := func(t time.Time) int { return int(math.Log2(math.Max(1, float64(now.Sub(t.Truncate(time.Second)))))) }
	sort.Slice(of, func(i, j int) bool {
		p, q := of[i], of[j]
		switch {
		case (p.node == "") != (q.node == ""):
			return p.node == ""
		case p.running.IsZero() != q.running.IsZero():
			return p.running.IsZero()
		case rank[p.node] != rank[q.node]:
			return rank[p.node] > rank[q.node]
		case p.running.IsZero() && age(p.created) != age(q.created):
			return age(p.created) < age(q.created)
		case !p.running.IsZero() && age(p.running) != age(q.running):
			return age(p.running) < age(q.running)
		}
		return p.uid < q.uid
	})
	return of
}

// deletePod deletes a pod that its workload no longer wants.
func (c *Cluster) deletePod(p *pod) {
	c.leaves(p)
	c.outside(func() { _, _ = c.store.delete(p.key(), nil) })
	c.ends(p)
}

// evict is called by the store: Karpenter drains a node.
func (c *Cluster) evict(o *corev1.Pod) error {
	if c.refuses(o.Name) {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	}
	changed, err := c.store.delete(o, func(after client.Object) {
		status := &after.(*corev1.Pod).Status
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"})
	})
	if err != nil || !changed {
		return client.IgnoreNotFound(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[o.Name]
	if p == nil {
		return apierrors.NewNotFound(c.store.kind(typeOf(o)).resource, o.Name)
	}
	p.evicted = time.Now()
	c.leaves(p)
	c.ends(p)
	if p.of.job {
		c.reconcileAfter(p.of.backoff(), p.of)
	} else {
		c.reconcileAfter(0, p.of)
	}
	return nil
}

// backoff is how long a Job, a pod of which has just been evicted, waits before
// it makes another one.  The time of the failure is in full seconds.
func (w *workload) backoff() time.Duration {
	after := min(jobBackoffFirst<<min(w.failures, 6), jobBackoffLast)
	w.failures++
	return time.Until(time.Now().Truncate(time.Second).Add(after))
}

// leaves takes the pod from its workload.
func (c *Cluster) leaves(p *pod) {
	p.deleting = time.Now()
	delete(p.of.pods, p.name)
	c.budget(p.of)
}

// ends removes a pod whose deletion has begun, as the kubelet does.
func (c *Cluster) ends(p *pod) {
	if p.bound.IsZero() {
		c.gone(p)
		return
	}
	time.AfterFunc(p.of.ends, func() {
		c.store.remove(p.key())
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gone(p)
		c.moved()
	})
}

// gone gives the place of the pod back.
func (c *Cluster) gone(p *pod) {
	if !p.gone.IsZero() {
		return
	}
	p.gone = time.Now()
	c.freePlace(p)
	delete(c.waiting, p.name)
	delete(c.pods, p.name)
	c.past = append(c.past, p)
}

func (c *Cluster) freePlace(p *pod) {
	n := c.nodes[p.node]
	if n == nil || n.on[p.name] == nil {
		return
	}
	delete(n.on, p.name)
	n.used, n.counted = n.used.minus(p.of.requests), n.counted.minus(p.of.counted)
}

// runs makes a bound pod ready, as kwok does.
func (c *Cluster) runs(p *pod) {
	c.mu.Lock()
	if !p.deleting.IsZero() || !p.gone.IsZero() {
		c.mu.Unlock()
		return
	}
	p.running = time.Now()
	c.budget(p.of)
	c.mu.Unlock()
	change(c.store, p.key(), isRunning)
	if p.of.job {
		time.AfterFunc(p.of.lives, func() { c.completes(p) })
	}
}

// isRunning makes the pod running and ready.
func isRunning(o *corev1.Pod) {
	now := metav1.Now()
	o.Status.Phase, o.Status.StartTime = corev1.PodRunning, &now
	o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now})
}

// completes ends a pod of a Job, which has done its work.
func (c *Cluster) completes(p *pod) {
	c.mu.Lock()
	if !p.deleting.IsZero() || !p.gone.IsZero() {
		c.mu.Unlock()
		return
	}
	p.ended = time.Now()
	p.of.replicas--
	p.of.failures = 0
	delete(p.of.pods, p.name)
	c.freePlace(p)
	c.moved()
	c.mu.Unlock()
	change(c.store, p.key(), func(o *corev1.Pod) { o.Status.Phase = corev1.PodSucceeded })
	if ttl := p.of.ttl; ttl != nil && p.of.replicas == 0 {
		time.AfterFunc(time.Duration(*ttl)*time.Second, func() {
			c.collect(func(q *pod) bool { return q.of == p.of && !q.ended.IsZero() })
		})
	}
}

// collect deletes the pods that are left of what is gone: a finished Job with
// ttlSecondsAfterFinished, a Job that is deleted, or a node.
func (c *Cluster) collect(left func(*pod) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pods {
		if left(p) {
			c.gone(p)
			c.outside(func() { c.store.remove(p.key()) })
		}
	}
}

// collectNode is PodGC: every 20 s it looks which nodes are gone, and 40 s later
// it deletes the pods that are left of them.  Until then Karpenter sees the pods
// of finished Jobs; when they go, it looks at the whole cluster again.
func (c *Cluster) collectNode(name string) {
	const look, wait = 20 * time.Second, 40 * time.Second
	first := time.Now().Add(-c.gcPhase).Truncate(look).Add(look + c.gcPhase)
	time.AfterFunc(time.Until(first.Add(wait)), func() {
		c.collect(func(p *pod) bool { return p.node == name })
		if c.daemons != nil {
			c.daemons.leave(c.store, name)
		}
	})
}

// restart replaces the pods of a Deployment, a quarter at a time and with no
// fewer of them than asked for (maxSurge 25 %, maxUnavailable 0).
func (c *Cluster) restart(w *workload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var old []*pod
	for _, p := range w.pods {
		old = append(old, p)
	}
	w.revision++
	sort.Slice(old, func(i, j int) bool { return old[i].name < old[j].name })
	for size := max(1, (len(old)+restartSurge-1)/restartSurge); len(old) > 0; {
		n := min(size, len(old))
		w.replicas += n
		c.reconcile(w)
		for !w.allRun() {
			c.outside(func() { time.Sleep(restartPoll) })
		}
		w.replicas -= n
		for _, p := range old[:n] {
			if w.pods[p.name] != nil && len(w.pods) > w.replicas {
				c.deletePod(p)
			}
		}
		c.reconcile(w)
		old = old[n:]
	}
}

func (w *workload) allRun() bool {
	for _, p := range w.pods {
		if p.running.IsZero() {
			return false
		}
	}
	return true
}
