// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// daemonReadyAfter is from a Node to its DaemonSet's pod that is ready.
const daemonReadyAfter = 5 * time.Second

// daemons is the DaemonSet of a cluster, whose pods tolerate every taint, and
// what each of them asks for.  Karpenter counts them on the nodes it chooses, and
// does not evict them.
type daemons struct {
	set      *appsv1.DaemonSet
	workload *workload
}

// newDaemons creates the DaemonSet of the load; nil if it has none.
func newDaemons(ctx context.Context, s *Store, requests corev1.ResourceList) (*daemons, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent"}}
	set.Spec.Template.Labels = map[string]string{"app": set.Name}
	set.Spec.Template.Spec = corev1.PodSpec{
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Containers:  []corev1.Container{{Name: set.Name, Resources: corev1.ResourceRequirements{Requests: requests}}}}
	w := &workload{template: &set.Spec.Template}
	w.count()
	return &daemons{set, w}, s.Create(ctx, set)
}

// join puts a pod of the DaemonSet on a new node.  It keeps its place until the
// node goes, and counts for nobody's figures.
func (d *daemons) join(s *Store, n *node) {
	o := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.set.Namespace, Name: d.set.Name + "-" + n.name, Labels: d.set.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d.set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}},
		Spec:   *d.set.Spec.Template.Spec.DeepCopy(),
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	o.Spec.NodeName = n.name
	n.on[o.Name] = &pod{name: o.Name, of: d.workload}
	n.used, n.counted = n.used.plus(d.workload.requests), n.counted.plus(d.workload.counted)
	time.AfterFunc(createTakes, func() {
		if err := s.Create(context.Background(), o); err != nil {
			panic(err)
		}
	})
	time.AfterFunc(daemonReadyAfter, func() { change(s, o, isRunning) })
}

// leave removes what is left of the pod on a node that is gone.
func (d *daemons) leave(s *Store, node string) {
	s.remove(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.set.Namespace, Name: d.set.Name + "-" + node}})
}
