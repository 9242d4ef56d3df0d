// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"sort"
	"strconv"
	"time"

	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Facts are what tests/study/measures.py makes figures from: times are seconds
// since the load began, and nil is what did not happen.
type Facts struct {
	Pods     []PodFacts              `json:"pods"`
	Nodes    []NodeFacts             `json:"nodes"`
	Wanted   map[string][][2]float64 `json:"wanted"`
	EndedS   float64                 `json:"ended_s"`
	HorizonS float64                 `json:"horizon_s"`
	DriftS   *float64                `json:"drift_s"`
}

type PodFacts struct {
	App      string   `json:"app"`
	Job      bool     `json:"job"`
	Node     *string  `json:"node"`
	Created  float64  `json:"created"`
	Running  *float64 `json:"running"`
	Evicted  *float64 `json:"evicted"`
	Deleting *float64 `json:"deleting"`
	Done     *float64 `json:"done"`
	Gone     *float64 `json:"gone"`
}

type NodeFacts struct {
	Name      string        `json:"name"`
	Node      *string       `json:"node"`
	Type      string        `json:"type"`
	Price     float64       `json:"price"`
	Created   float64       `json:"created"`
	Launched  *float64      `json:"launched"`
	Disrupted *float64      `json:"disrupted"`
	Reason    *string       `json:"reason"`
	Gone      *float64      `json:"gone"`
	Held      [][2]*float64 `json:"held"`
}

// priceLabel is where kwok's provider says what a machine costs an hour.
const priceLabel = "eks-node-viewer/instance-price"

func priceOf(o *karpenter.NodeClaim) float64 {
	price, err := strconv.ParseFloat(o.Labels[priceLabel], 64)
	if err != nil {
		panic("lab: NodeClaim " + o.Name + ": the label " + priceLabel + ": " + err.Error())
	}
	return price
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Facts says what has happened since the load began.
func (c *Cluster) Facts(horizon time.Duration) *Facts {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := func(t time.Time) float64 { return t.Sub(c.begin).Round(10 * time.Millisecond).Seconds() }
	at := func(t time.Time) *float64 {
		if t.IsZero() {
			return nil
		}
		s := since(t)
		return &s
	}
	f := &Facts{Pods: []PodFacts{}, Nodes: []NodeFacts{}, Wanted: map[string][][2]float64{},
		EndedS: since(time.Now()), HorizonS: horizon.Seconds(), DriftS: at(c.drifted)}
	pods := append([]*pod{}, c.past...)
	for _, p := range c.pods {
		pods = append(pods, p)
	}
	sort.Slice(pods, func(i, j int) bool { return pods[i].created.Before(pods[j].created) })
	for _, p := range pods {
		f.Pods = append(f.Pods, PodFacts{
			App: p.of.name, Job: p.of.job, Node: text(p.node), Created: since(p.created), Running: at(p.running),
			Evicted: at(p.evicted), Deleting: at(p.deleting), Done: at(p.ended), Gone: at(p.gone)})
	}
	for _, x := range c.claims {
		n := NodeFacts{
			Name: x.name, Node: text(x.node), Type: x.typ, Price: x.price, Created: since(x.created),
			Launched: at(x.launched), Disrupted: at(x.disrupted), Reason: text(x.reason), Gone: at(x.gone),
			Held: [][2]*float64{}}
		for _, h := range c.holds[x.node] {
			n.Held = append(n.Held, [2]*float64{at(h.from), at(h.to)})
		}
		f.Nodes = append(f.Nodes, n)
	}
	sort.Slice(f.Nodes, func(i, j int) bool { return f.Nodes[i].Created < f.Nodes[j].Created })
	for _, w := range c.workloads {
		if w.job {
			continue
		}
		for _, s := range w.wanted {
			f.Wanted[w.name] = append(f.Wanted[w.name], [2]float64{since(s.at), float64(s.replicas)})
		}
	}
	return f
}
