// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// inCluster calls f in a bubble with a cluster that has the pods of a load.
// kube-scheduler works on it until f returns.
func inCluster(t *testing.T, f func(*Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := NewCluster(newStore(), &Load{}, 1)
		c.store.Admit = c.Admit
		over := make(chan struct{})
		go func() {
			c.schedule()
			close(over)
		}()
		f(c)
		time.Sleep(time.Hour) // until nothing is left to happen
		close(c.wake)
		<-over
	})
}

// machine creates a Node with room for so much, and returns its name.
func machine(t *testing.T, c *Cluster, name, cpu string) string {
	t.Helper()
	created(t, c.store, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: "a"}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourcePods: resource.MustParse("100")}}})
	return name
}

// added is a workload of pods that are ready after 10 s.
func added(c *Cluster, name string, job bool, milli int64, replicas int) *workload {
	w := &workload{
		namespace: "default", name: name, job: job, template: &corev1.PodTemplateSpec{},
		requests: amount{milli, 0}, counted: amount{milli, countedMemory}, pods: map[string]*pod{},
		ready: 10 * time.Second, lives: time.Hour, ends: 5 * time.Second,
	}
	w.template.Labels = map[string]string{"app": name}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workloads[name] = w
	if c.pdb && !job {
		c.newBudget(w)
	}
	c.scale(w, replicas)
	return w
}

// on says how many pods of the workload are on each node.
func on(c *Cluster, w *workload) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]int{}
	for _, p := range w.pods {
		found[p.node]++
	}
	return found
}

// The figures come from the formulas in the source of kube-scheduler 1.36.
func TestScores(t *testing.T) {
	w := &workload{requests: amount{1000, 0}, counted: amount{1000, countedMemory}}
	for _, x := range []struct {
		room, used     amount
		least, balance int64
	}{
		// (8000-1000)/8000 = 87, (8192-200)/8192 = 97; the share of cpu is 1/8
		// more, so the balance goes from 100 to 93.
		{amount{8000, 8 << 30}, amount{}, (87 + 97) / 2, 50 + (50+93-100)/2},
		// A larger node loses less of its balance.
		{amount{4000, 8 << 30}, amount{}, (75 + 97) / 2, 50 + (50+87-100)/2},
		// What brings the shares together counts for more.
		{amount{8000, 8 << 30}, amount{0, 4 << 30}, (87 + 47) / 2, 50 + (50+81-75)/2},
	} {
		n := &node{room: x.room, used: x.used, counted: x.used}
		if least, balance := leastAllocated(w, n), balanced(w, n); least != x.least || balance != x.balance {
			t.Errorf("%v: %d and %d, expected %d and %d", x, least, balance, x.least, x.balance)
		}
	}
	if got := balanced(&workload{}, &node{room: amount{1000, 1 << 30}}); got != 0 {
		t.Errorf("a pod that requests nothing has the balance %d", got)
	}
}

// Pods of a ReplicaSet are spread over nodes and zones.
func TestSpread(t *testing.T) {
	w := &workload{}
	nodes := []*node{{zone: "a"}, {zone: "b"}, {zone: "b"}}
	for i, count := range []int{2, 0, 1} { // the last is full, but counts for its zone
		nodes[i].on = map[string]*pod{}
		for j := range count {
			nodes[i].on[fmt.Sprint(j)] = &pod{of: w}
		}
		nodes[i].on["leaves"] = &pod{of: w, deleting: time.Now()}
		nodes[i].on["old"] = &pod{of: w, revision: -1}
	}
	scores := make([]int64, 2)
	addSpread(scores, &pod{of: w}, nodes, nodes[:2])
	// 2 ln 4 + 2 + 2 ln 4 + 4 is 12, and 0 + 2 + ln 4 + 4 is 7.
	if scores[0] != 2*(100*7/12) || scores[1] != 2*100 {
		t.Error(scores)
	}
}

// Where there is no Node, pods wait for the backoff after errors, which is not
// cut short when a Node comes.
func TestNoNode(t *testing.T) {
	inCluster(t, func(c *Cluster) {
		began := time.Now()
		w := added(c, "web", false, 900, 2)
		time.Sleep(31 * time.Second)
		machine(t, c, "n", "4")
		time.Sleep(9900 * time.Millisecond)
		if got := on(c, w); got["n"] != 0 {
			t.Errorf("bound after %s", time.Since(began))
		}
		time.Sleep(200 * time.Millisecond) // 1, 2, 4, 8, 10 and 10 s, each until the next full second
		if got := on(c, w); got["n"] != 2 {
			t.Errorf("after %s: %v", time.Since(began), got)
		}
	})
}

// Of pods that wait for a node, those come first that have not been tried since it
// came, whatever their age.
func TestQueue(t *testing.T) {
	inCluster(t, func(c *Cluster) {
		machine(t, c, "full", "100m")
		time.Sleep(time.Second)
		old := added(c, "old", true, 900, 20)
		time.Sleep(time.Minute)
		young := added(c, "young", true, 900, 40)
		time.Sleep(time.Minute)
		machine(t, c, "n", "9") // it opens while the young ones are tried
		time.Sleep(20 * time.Second)
		if on(c, old)["n"] != 0 || on(c, young)["n"] != 10 {
			t.Errorf("%v and %v", on(c, old), on(c, young))
		}
	})
}

// What a finished Job leaves stays until its node has been gone for a while.
func TestFinishedPods(t *testing.T) {
	inCluster(t, func(c *Cluster) {
		machine(t, c, "n", "4")
		w := added(c, "job", true, 900, 2)
		left := func() int { return len(all[*corev1.Pod](c.store)) }
		time.Sleep(2 * time.Hour)
		if len(on(c, w)) != 0 || left() != 2 {
			t.Errorf("%v run, %d are left", on(c, w), left())
		}
		if err := c.store.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(39 * time.Second)
		if left() != 2 {
			t.Errorf("%d are left after 39 s", left())
		}
		time.Sleep(22 * time.Second)
		if left() != 0 {
			t.Errorf("%d are left after 61 s", left())
		}
	})
}

// A Job waits longer after each pod that it loses.
func TestJobBackoff(t *testing.T) {
	inCluster(t, func(c *Cluster) {
		machine(t, c, "n", "4")
		w := added(c, "job", true, 900, 1)
		for _, wait := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
			time.Sleep(time.Minute)
			evictAll(t, c, w)
			time.Sleep(wait - time.Second - 10*time.Millisecond)
			if len(on(c, w)) != 0 {
				t.Errorf("another pod within %s", wait)
			}
			time.Sleep(time.Second + 20*time.Millisecond)
			if len(on(c, w)) != 1 {
				t.Errorf("no other pod after %s", wait)
			}
		}
	})
}

// evictAll evicts the pods of the workload, and returns how many were refused.
func evictAll(t *testing.T, c *Cluster, w *workload) int {
	t.Helper()
	c.mu.Lock()
	var keys []*corev1.Pod
	for _, p := range w.pods {
		keys = append(keys, p.key())
	}
	c.mu.Unlock()
	refused := 0
	for _, key := range keys {
		switch err := c.store.SubResource("eviction").Create(ctx, key, nil); {
		case apierrors.IsTooManyRequests(err):
			refused++
		case err != nil:
			t.Error(err)
		}
	}
	return refused
}

// With maxUnavailable 1, one of three pods may go, and another one only when its
// substitute is ready.
func TestBudget(t *testing.T) {
	inCluster(t, func(c *Cluster) {
		c.pdb = true
		machine(t, c, "n", "8")
		w := added(c, "web", false, 900, 3)
		allowed := func() int32 {
			b := &policyv1.PodDisruptionBudget{}
			if err := c.store.Get(ctx, types.NamespacedName{Namespace: "default", Name: "web"}, b); err != nil {
				t.Fatal(err)
			}
			return b.Status.DisruptionsAllowed
		}
		time.Sleep(20 * time.Second)
		if allowed() != 1 {
			t.Errorf("%d may go", allowed())
		}
		if refused := evictAll(t, c, w); refused != 2 || allowed() != 0 {
			t.Errorf("%d were refused, %d more may go", refused, allowed())
		}
		time.Sleep(9 * time.Second)
		if refused := evictAll(t, c, w); refused != 2 { // the third is not ready
			t.Errorf("%d were refused before the substitute was ready", refused)
		}
		time.Sleep(20 * time.Second)
		if allowed() != 1 {
			t.Errorf("%d may go in the end", allowed())
		}
	})
}

// Every node has a pod of the DaemonSet, which takes its room until the node is
// gone, and which nobody counts.
func TestDaemons(t *testing.T) {
	inCluster(t, func(c *Cluster) {
		var err error
		c.daemons, err = newDaemons(t.Context(), c.store, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("300m")})
		if err != nil {
			t.Fatal(err)
		}
		name := machine(t, c, "a", "2")
		added(c, "web", false, 900, 2) // with 300 m they need 2.1 cpus
		time.Sleep(time.Minute)
		pods := all[*corev1.Pod](c.store)
		bound := 0
		for _, p := range pods {
			if p.Spec.NodeName == name && p.Status.Phase == corev1.PodRunning {
				bound++
			}
		}
		if len(pods) != 3 || bound != 2 || len(c.Facts(0).Pods) != 2 {
			t.Errorf("%d pods, %d of them run", len(pods), bound)
		}
		c.store.remove(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		time.Sleep(2 * time.Minute)
		for _, p := range all[*corev1.Pod](c.store) {
			if p.Namespace == c.daemons.set.Namespace {
				t.Error("the pod of a node that is gone is still there")
			}
		}
	})
}
