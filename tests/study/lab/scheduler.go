// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"math"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kube-scheduler, as far as the pods of a load need it: NodeResourcesFit
// (LeastAllocated), NodeResourcesBalancedAllocation and PodTopologySpread with
// its default constraints, with the weights 1, 1 and 2 of its default profile.
// A pod that fits nowhere is tried again when something changes.  It does not
// wait for its backoff: with SchedulerPopFromBackoffQ, which is on by default,
// kube-scheduler takes pods from the backoff queue while no other pod waits.

// scheduleAfter is how long kube-scheduler takes to see what has changed.
const scheduleAfter = 20 * time.Millisecond

const (
	spreadOverHosts = 3 // maxSkew of the default constraints
	spreadOverZones = 5
	spreadWeight    = 2
	scoreMost       = 100
)

// kick makes kube-scheduler look at the pods that wait.
func (c *Cluster) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// schedule runs for the whole run.
func (c *Cluster) schedule() {
	for range c.wake {
		time.Sleep(scheduleAfter)
		select {
		case <-c.wake:
		default:
		}
		c.pass()
	}
}

// pass tries each pod that waits, the oldest first.
func (c *Cluster) pass() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var waiting []*pod
	for _, p := range c.waiting {
		waiting = append(waiting, p)
	}
	sort.Slice(waiting, func(i, j int) bool {
		p, q := waiting[i], waiting[j]
		if !p.created.Equal(q.created) {
			return p.created.Before(q.created)
		}
		return p.name < q.name
	})
	for _, p := range waiting {
		if c.waiting[p.name] == nil {
			continue // it has been deleted meanwhile
		}
		if n := c.choose(p); n != nil {
			c.bind(p, n)
		} else if !p.unschedulable {
			p.unschedulable = true
			c.outside(func() { change(c.store, p.key(), sayUnschedulable) })
		}
	}
}

// sayUnschedulable makes Karpenter see the pod.
func sayUnschedulable(o *corev1.Pod) {
	o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.Now()})
}

func (c *Cluster) bind(p *pod, n *node) {
	delete(c.waiting, p.name)
	p.node, p.bound = n.name, time.Now()
	n.on[p.name] = p
	n.usedCPU += p.of.cpu
	n.usedMemory += p.of.memory
	c.outside(func() {
		change(c.store, p.key(), func(o *corev1.Pod) {
			o.Spec.NodeName = n.name
			o.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		})
	})
	time.AfterFunc(p.of.ready, func() { c.runs(p) })
}

// choose returns the node with the highest score, or nil if the pod fits on
// none.  Of equal nodes it takes any.
func (c *Cluster) choose(p *pod) *node {
	var open, fit []*node
	for _, n := range c.nodes {
		if n.open && takes(n, p) {
			open = append(open, n)
		}
	}
	sort.Slice(open, func(i, j int) bool { return open[i].name < open[j].name })
	for _, n := range open {
		if n.usedCPU+p.of.cpu <= n.cpu && n.usedMemory+p.of.memory <= n.memory && int64(len(n.on)) < n.pods {
			fit = append(fit, n)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	scores := make([]float64, len(fit))
	for i, n := range fit {
		scores[i] = resourceScore(p, n)
	}
	if !p.of.job {
		addSpread(scores, p, open, fit)
	}
	best, equal := 0, 1
	for i := 1; i < len(fit); i++ {
		if scores[i] > scores[best] {
			best, equal = i, 1
		} else if scores[i] == scores[best] {
			equal++
			if c.rng.Intn(equal) == 0 {
				best = i
			}
		}
	}
	return fit[best]
}

// takes says whether the pod's nodeSelector, of which a load has the NodePool,
// allows the node.
func takes(n *node, p *pod) bool {
	want := p.of.template.Spec.NodeSelector[NodePoolLabel]
	return want == "" || want == n.nodePool
}

// requestedMemory is what kube-scheduler counts for a pod without a request.
const requestedMemory = 200 << 20

func resourceScore(p *pod, n *node) float64 {
	pods := int64(len(n.on) + 1)
	memory := max(n.usedMemory+p.of.memory, pods*requestedMemory)
	cpu := float64(n.usedCPU+p.of.cpu) / float64(n.cpu)
	mem := min(1, float64(memory)/float64(n.memory))
	least := scoreMost * ((1 - cpu) + (1 - mem)) / 2
	balanced := scoreMost * (1 - math.Abs(cpu-mem)/2)
	return math.Floor(least) + math.Floor(balanced)
}

// addSpread adds the score of PodTopologySpread (scoring.go of that plugin):
// the fewer pods of the same workload on a host and in a zone, the more.
func addSpread(scores []float64, p *pod, open, fit []*node) {
	same := func(n *node) (count float64) {
		for _, q := range n.on {
			if q.of == p.of && q.deleting.IsZero() {
				count++
			}
		}
		return count
	}
	zones := map[string]float64{}
	for _, n := range open {
		zones[n.zone] += same(n)
	}
	costs := make([]float64, len(fit))
	lowest, highest := math.Inf(1), math.Inf(-1)
	for i, n := range fit {
		costs[i] = same(n)*math.Log(float64(len(fit)+2)) + spreadOverHosts - 1 +
			zones[n.zone]*math.Log(float64(len(zones)+2)) + spreadOverZones - 1
		lowest, highest = min(lowest, costs[i]), max(highest, costs[i])
	}
	for i, cost := range costs {
		scores[i] += spreadWeight * math.Floor(scoreMost*(highest+lowest-cost)/highest)
	}
}
