// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// Load is a file of kubereplay, with the key "study" of tests/study/loads.py,
// which reads and checks such files.
type Load struct {
	Events []Event `json:"events"`
	Study  struct {
		Minutes float64  `json:"minutes"`
		Menu    Menu     `json:"menu"`
		Actions []Action `json:"actions"`
		// BootJitter: a node boots up to so many seconds later.
		BootJitter float64 `json:"boot_jitter_s"`
		// Daemon: what a pod of the cluster's DaemonSet asks for.
		Daemon corev1.ResourceList `json:"daemon"`
	} `json:"study"`
}

// Event creates, scales or deletes a Deployment or a Job.
type Event struct {
	Type       string             `json:"type"`
	Kind       string             `json:"kind"`
	Key        string             `json:"key"` // NAMESPACE/NAME
	Timestamp  time.Time          `json:"timestamp"`
	Replicas   int                `json:"replicas"`
	Deployment *appsv1.Deployment `json:"deployment"`
	Job        *batchv1.Job       `json:"job"`
}

// Action is what kubereplay does not know: restart, drift, end, launch, boot.
type Action struct {
	At    float64 `json:"at"`
	What  string  `json:"what"`
	Name  string  `json:"name"`  // restart: of the Deployment
	Which float64 `json:"which"` // end: which of the machines, from 0 to 1
}

// Menu has the instance types from which Karpenter chooses.
type Menu struct {
	CPUs     []string `json:"cpus"`
	Families []string `json:"families"`
	Capacity []string `json:"capacity"`
}

// NodePoolLabel is by what a pod asks for a NodePool.
const NodePoolLabel = "karpenter.sh/nodepool"

// Annotations of pods, which say how long kwok's stages take.
const (
	readyAfter = "pod-ready.stage.kwok.x-k8s.io/delay"
	livesFor   = "pod-complete.stage.kwok.x-k8s.io/delay"
	endsAfter  = "pod-delete.stage.kwok.x-k8s.io/delay"
)

// ReadLoad reads a file that tests/study has written.
func ReadLoad(file string) (*Load, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	l := &Load{}
	if err := json.Unmarshal(raw, l); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(l.Events) == 0 {
		return nil, fmt.Errorf("%s: expected events", file)
	}
	for i, e := range l.Events {
		if e.Type == "create" && e.template() == nil {
			return nil, fmt.Errorf("%s: events[%d]: expected a Deployment or a Job", file, i)
		}
	}
	return l, nil
}

// name is that of the Deployment or Job.
func (e *Event) name() string { return e.Key[strings.LastIndex(e.Key, "/")+1:] }

// template is that of the pods, in an event that creates.
func (e *Event) template() *corev1.PodTemplateSpec {
	switch {
	case e.Kind == "Deployment" && e.Deployment != nil:
		return &e.Deployment.Spec.Template
	case e.Kind == "Job" && e.Job != nil:
		return &e.Job.Spec.Template
	}
	return nil
}

// pools returns the NodePools that the pods ask for.
func (l *Load) pools() []string {
	var names []string
	seen := map[string]bool{}
	for i := range l.Events {
		t := l.Events[i].template()
		if t == nil || l.Events[i].Type != "create" {
			continue
		}
		if name := t.Spec.NodeSelector[NodePoolLabel]; name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return []string{"general"}
	}
	return names
}

// fits says which pods no machine has room for.  kube-scheduler would let them
// wait for ever.
func (l *Load) fits(types []*cloudprovider.InstanceType) error {
	daemon := amount{l.Study.Daemon.Cpu().MilliValue(), l.Study.Daemon.Memory().Value()}
	for i := range l.Events {
		if l.Events[i].Type != "create" {
			continue
		}
		asks := newWorkload(&l.Events[i]).requests
		if !slices.ContainsFunc(types, func(t *cloudprovider.InstanceType) bool {
			has := t.Allocatable()
			return asks.plus(daemon).within(amount{has.Cpu().MilliValue(), has.Memory().Value()})
		}) {
			return fmt.Errorf("events[%d]: its pods ask for %d milli cpus and %d MiB, for which no instance type has room",
				i, asks.cpu, asks.memory>>20)
		}
	}
	return nil
}

// checkTypes says what a file of instance types lacks.
func checkTypes(file string, types []*cloudprovider.InstanceType) error {
	if len(types) == 0 {
		return fmt.Errorf("%s: expected instance types", file)
	}
	for i, t := range types {
		switch {
		case t.Name == "":
			return fmt.Errorf("%s: [%d]: expected a name", file, i)
		case t.Capacity.Cpu().IsZero() || t.Capacity.Memory().IsZero():
			return fmt.Errorf("%s: %s: expected resources with cpu and memory", file, t.Name)
		case len(t.Offerings) == 0:
			return fmt.Errorf("%s: %s: expected offerings", file, t.Name)
		}
		for _, o := range t.Offerings {
			if o.Price <= 0 || !o.Requirements.Has(corev1.LabelTopologyZone) || !o.Requirements.Has(karpenter.CapacityTypeLabelKey) {
				return fmt.Errorf("%s: %s: expected of each offering a price, a zone and a capacity type", file, t.Name)
			}
		}
	}
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// delay returns the duration in an annotation of the pods.
func delay(t *corev1.PodTemplateSpec, key string) time.Duration {
	d, err := time.ParseDuration(t.Annotations[key])
	if err != nil {
		panic(fmt.Sprintf("lab: the annotation %s of a load: %v", key, err))
	}
	return d
}
