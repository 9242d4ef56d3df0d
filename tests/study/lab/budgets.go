// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A PodDisruptionBudget for each Deployment, with maxUnavailable 1, where the
// policy wants that.  Karpenter looks at its status; an eviction that it does
// not allow is refused.

// newBudget makes the budget of a Deployment.
func (c *Cluster) newBudget(w *workload) {
	most := intstr.FromInt32(1)
	c.outside(func() {
		if err := c.store.Create(context.Background(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.name},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: w.template.Labels}},
		}); err != nil {
			panic(err)
		}
	})
	w.budget = true
}

// allowed is how many more pods may go: those that are ready beyond all but one
// of those asked for.
func (w *workload) allowed() int {
	ready := 0
	for _, p := range w.pods {
		if !p.running.IsZero() {
			ready++
		}
	}
	return max(0, ready-max(0, w.replicas-1))
}

// refuses says whether the API server answers the eviction of the pod with 429.
// A pod that is not ready may go, unless others are missing, too.
func (c *Cluster) refuses(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[name]
	return p != nil && p.of.budget && p.deleting.IsZero() && !p.running.IsZero() && p.of.allowed() == 0
}

// budget writes the status of the budget.
func (c *Cluster) budget(w *workload) {
	if !w.budget {
		return
	}
	allowed := int32(w.allowed())
	c.outside(func() {
		change(c.store, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.name}},
			func(o *policyv1.PodDisruptionBudget) { o.Status.DisruptionsAllowed = allowed })
	})
}
