// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"math"
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kube-scheduler 1.36, as far as the pods of a load need it: NodeResourcesFit
// (LeastAllocated), NodeResourcesBalancedAllocation and PodTopologySpread with
// its default constraints, with the weights 1, 1 and 2 of its default profile.
// Scores are whole numbers, divided as there: ties decide where pods go.

const (
	spreadOverHosts = 3 // maxSkew of the default constraints
	spreadOverZones = 5
	spreadWeight    = 2
	scoreMost       = 100
)

// bind binds the pod to the node, and kwok runs it.
func (c *Cluster) bind(p *pod, n *node) {
	delete(c.waiting, p.name)
	p.node, p.bound = n.name, time.Now()
	n.on[p.name] = p
	n.used, n.counted = n.used.plus(p.of.requests), n.counted.plus(p.of.counted)
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
	var all, fit []*node
	for _, n := range c.nodes {
		if takes(n, p) {
			all = append(all, n)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	for _, n := range all {
		if n.open && n.used.plus(p.of.requests).within(n.room) && int64(len(n.on)) < n.pods {
			fit = append(fit, n)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	scores := make([]int64, len(fit))
	for i, n := range fit {
		scores[i] = leastAllocated(p.of, n) + balanced(p.of, n)
	}
	if !p.of.job {
		addSpread(scores, p, all, fit)
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

// What kube-scheduler counts for a pod without a request.
const (
	countedCPU    = 100
	countedMemory = 200 << 20
)

// amount is of cpu, in milli, and of memory.
type amount struct{ cpu, memory int64 }

func (a amount) plus(b amount) amount  { return amount{a.cpu + b.cpu, a.memory + b.memory} }
func (a amount) minus(b amount) amount { return amount{a.cpu - b.cpu, a.memory - b.memory} }
func (a amount) within(b amount) bool  { return a.cpu <= b.cpu && a.memory <= b.memory }

// leastAllocated is the score of NodeResourcesFit: the more is free, the more.
func leastAllocated(w *workload, n *node) int64 {
	free := func(used, room int64) int64 { return max(0, (room-used)*scoreMost/room) }
	used := n.counted.plus(w.counted)
	return (free(used.cpu, n.room.cpu) + free(used.memory, n.room.memory)) / 2
}

// balanced is the score of NodeResourcesBalancedAllocation: the more a pod
// brings the shares of cpu and memory together, the more.
func balanced(w *workload, n *node) int64 {
	if w.requests == (amount{}) {
		return 0
	}
	score := func(used amount) int64 {
		cpu := min(1, float64(used.cpu)/float64(n.room.cpu))
		memory := min(1, float64(used.memory)/float64(n.room.memory))
		return int64((1 - math.Abs((cpu-memory)/2)) * scoreMost)
	}
	return scoreMost/2 + (scoreMost/2+score(n.used.plus(w.requests))-score(n.used))/2
}

// addSpread adds the score of PodTopologySpread (scoring.go of that plugin):
// the fewer pods of the same ReplicaSet on a host and in a zone, the more.  It
// counts the pods of a zone on all nodes, but only the zones of those that fit.
func addSpread(scores []int64, p *pod, all, fit []*node) {
	same := func(n *node) (count float64) {
		for _, q := range n.on {
			if q.of == p.of && q.revision == p.revision && q.deleting.IsZero() {
				count++
			}
		}
		return count
	}
	zones := map[string]float64{}
	for _, n := range fit {
		zones[n.zone] = 0
	}
	for _, n := range all {
		if _, ok := zones[n.zone]; ok {
			zones[n.zone] += same(n)
		}
	}
	costs := make([]int64, len(fit))
	for i, n := range fit {
		costs[i] = int64(math.Round(same(n)*math.Log(float64(len(fit)+2)) + spreadOverHosts - 1 +
			zones[n.zone]*math.Log(float64(len(zones)+2)) + spreadOverZones - 1))
	}
	lowest, highest := slices.Min(costs), slices.Max(costs)
	for i, cost := range costs {
		scores[i] += spreadWeight * (scoreMost * (highest + lowest - cost) / highest)
	}
}
