// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"math/rand"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// How long after its creation a Node has its TTL, by kube-controller-manager, is
// ready, by kwok, and is without its taint, by kube-controller-manager; the two
// latter take up to nodeSpan longer.  Measured in runs of make study.
const (
	nodeTTLAfter       = 40 * time.Millisecond
	nodeReadyAfter     = 40 * time.Millisecond
	nodeUntaintedAfter = 200 * time.Millisecond
	nodeSpan           = 200 * time.Millisecond
	nodeCallSpan       = 80 * time.Millisecond // for its creation
)

// Cluster plays what is around Karpenter: kube-scheduler (scheduler.go), the
// controllers of Deployments and Jobs (workloads.go), and kwok, which boots
// nodes and runs pods.  It keeps what happened, for Facts (facts.go).
//
// mu guards everything.  The store calls the Cluster under its own lock, so
// nobody calls the store while holding mu.
type Cluster struct {
	store   *Store
	load    *Load
	begin   time.Time // of the load
	pdb     bool      // each Deployment has a PodDisruptionBudget
	daemons *daemons  // nil if there are none

	mu        sync.Mutex
	rng       *rand.Rand
	workloads map[string]*workload
	pods      map[string]*pod // those that are not gone
	past      []*pod
	waiting   map[string]*pod // for kube-scheduler
	nodes     map[string]*node
	claims    map[string]*claim
	holds     map[string][]span // when the hold was on each Node
	drifted   time.Time
	serial    int
	wake      chan struct{}                    // for kube-scheduler
	changes   int                              // that may make pods fit
	gcPhase   time.Duration                    // when PodGC looks
	creates   map[bool]flowcontrol.RateLimiter // of pods: of Jobs, and of others
}

// node is what kube-scheduler and kwok know of a Node.
type node struct {
	name, zone, nodePool string
	room                 amount
	pods                 int64           // for how many there is room
	used, counted        amount          // by those on it: requests, and as scored
	on                   map[string]*pod // until they are done or gone
	open                 bool            // ready, without a taint
}

// span is a time that goes on if its end is zero.
type span struct{ from, to time.Time }

// claim is what happened to a NodeClaim.
type claim struct {
	name, node, typ, reason            string
	price                              float64 // dollars an hour
	created, launched, disrupted, gone time.Time
}

func NewCluster(store *Store, load *Load, seed int64) *Cluster {
	c := &Cluster{
		store: store, load: load, rng: rand.New(rand.NewSource(seed)),
		workloads: map[string]*workload{}, pods: map[string]*pod{}, waiting: map[string]*pod{},
		nodes: map[string]*node{}, claims: map[string]*claim{}, holds: map[string][]span{}, wake: make(chan struct{}, 1),
		creates: map[bool]flowcontrol.RateLimiter{},
	}
	c.gcPhase = time.Duration(c.rng.Int63n(int64(20 * time.Second)))
	for _, job := range []bool{false, true} {
		c.creates[job] = flowcontrol.NewTokenBucketRateLimiter(createsASecond, createsAtOnce)
	}
	store.Written, store.Evict = c.written, c.evict
	return c
}

// Admit is what happens to a new object before it is stored.  A Node comes later
// than the NodePool says, by a call and by the jitter of the load, and has the
// taint that the API server gives to new nodes.
func (c *Cluster) Admit(_ context.Context, obj client.Object) {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return
	}
	c.mu.Lock()
	later := time.Duration(c.rng.Float64()*float64(nodeCallSpan)) + seconds(c.rng.Float64()*c.load.Study.BootJitter)
	c.mu.Unlock()
	time.Sleep(later)
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
}

// written is called by the store, under its lock.
func (c *Cluster) written(before, after client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch o := after.(type) {
	case *karpenter.NodeClaim:
		c.claimIs(o)
	case *corev1.Node:
		c.nodeIs(o)
	case nil:
		switch o := before.(type) {
		case *karpenter.NodeClaim:
			c.claims[o.Name].gone = time.Now()
		case *corev1.Node:
			c.hold(o.Name, false)
			delete(c.nodes, o.Name)
			c.collectNode(o.Name)
		}
	}
}

func (c *Cluster) claimIs(o *karpenter.NodeClaim) {
	now := time.Now()
	x := c.claims[o.Name]
	if x == nil {
		x = &claim{name: o.Name, created: now}
		c.claims[o.Name] = x
	}
	if o.Status.NodeName != "" {
		x.node = o.Status.NodeName
	}
	if x.launched.IsZero() && o.StatusConditions().Get(karpenter.ConditionTypeLaunched).IsTrue() {
		x.launched = now
		x.typ = o.Labels[corev1.LabelInstanceTypeStable]
		x.price = priceOf(o)
	}
	switch d := o.StatusConditions().Get(karpenter.ConditionTypeDisruptionReason); {
	case d.IsTrue() && x.disrupted.IsZero():
		x.disrupted, x.reason = now, d.Reason
	case !d.IsTrue() && o.DeletionTimestamp == nil: // Karpenter has given up
		x.disrupted, x.reason = time.Time{}, ""
	}
}

func (c *Cluster) nodeIs(o *corev1.Node) {
	n := c.nodes[o.Name]
	if n == nil {
		n = &node{name: o.Name, on: map[string]*pod{}}
		c.nodes[o.Name] = n
		if c.daemons != nil {
			c.daemons.join(c.store, n)
		}
		c.boot(o.Name)
		defer c.moved() // kube-scheduler tries pods before it is open
	}
	c.changes++
	n.zone, n.nodePool = o.Labels[corev1.LabelTopologyZone], o.Labels[NodePoolLabel]
	n.room = amount{o.Status.Allocatable.Cpu().MilliValue(), o.Status.Allocatable.Memory().Value()}
	n.pods = o.Status.Allocatable.Pods().Value()
	was := n.open
	n.open = o.DeletionTimestamp == nil && len(o.Spec.Taints) == 0 && isReady(o)
	if n.open && !was {
		c.moved()
	}
	_, held := o.Annotations[karpenter.DoNotDisruptAnnotationKey]
	c.hold(o.Name, held)
}

// hold notes that the hold is on the Node, or that it is not.
func (c *Cluster) hold(name string, on bool) {
	spans := c.holds[name]
	last := len(spans) - 1
	was := last >= 0 && spans[last].to.IsZero()
	if on && !was {
		c.holds[name] = append(spans, span{from: time.Now()})
	} else if !on && was {
		spans[last].to = time.Now()
	}
}

func isReady(o *corev1.Node) bool {
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// boot makes the node ready, as kwok does, and takes its taint away, as the node
// lifecycle controller does.  Nodes of one batch open at different moments:
// otherwise the pods of a scale-up would pack better than in a real cluster.
func (c *Cluster) boot(name string) {
	obj := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	time.AfterFunc(nodeTTLAfter, func() {
		change(c.store, obj, func(o *corev1.Node) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, "node.alpha.kubernetes.io/ttl", "0")
		})
	})
	after := func(least time.Duration, f func(*corev1.Node)) {
		time.AfterFunc(least+time.Duration(c.rng.Float64()*float64(nodeSpan)), func() { change(c.store, obj, f) })
	}
	after(nodeReadyAfter, func(o *corev1.Node) {
		now := metav1.Now()
		o.Status.Phase = corev1.NodeRunning
		o.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue,
			LastTransitionTime: now, LastHeartbeatTime: now}}
	})
	after(nodeUntaintedAfter, func(o *corev1.Node) {
		o.Spec.Taints = slices.DeleteFunc(o.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == corev1.TaintNodeNotReady
		})
	})
}
