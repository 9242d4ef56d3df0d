// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"sort"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// What a failing machine is given, as in tests/study/play.py.
const (
	failsWithin    = time.Minute      // the next NodeClaim within that time fails
	failsPoll      = time.Second / 2  // how often it is looked for
	bootFailsAfter = 20 * time.Second // an action "boot": so long after it came
)

// Play plays the load, and returns when its last event is over.
func (c *Cluster) Play() {
	type moment struct {
		at  time.Duration
		act func()
	}
	var moments []moment
	end := seconds(c.load.Study.Minutes * 60)
	first := c.load.Events[0].Timestamp
	for i := range c.load.Events {
		e := &c.load.Events[i]
		moments = append(moments, moment{e.Timestamp.Sub(first), func() { c.event(e) }})
	}
	for _, a := range c.load.Study.Actions {
		moments = append(moments, moment{seconds(a.At), func() { c.action(a) }})
	}
	sort.SliceStable(moments, func(i, j int) bool { return moments[i].at < moments[j].at })
	for _, m := range moments {
		if m.at > end {
			break
		}
		time.Sleep(time.Until(c.begin.Add(m.at)))
		m.act()
	}
	time.Sleep(time.Until(c.begin.Add(end)))
}

func (c *Cluster) event(e *Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Type == "create" {
		w := newWorkload(e)
		c.workloads[e.Key] = w
		if c.pdb && !w.job {
			c.newBudget(w)
		}
		c.scale(w, w.replicas)
		return
	}
	w := c.workloads[e.Key]
	if w == nil {
		return // kubereplay goes on, too
	}
	if e.Type == "scale" {
		c.scale(w, e.Replicas)
		return
	}
	w.deleted = true
	c.scale(w, 0)
	go c.collect(func(p *pod) bool { return p.of == w && !p.ended.IsZero() })
}

func (c *Cluster) action(a Action) {
	switch a.What {
	case "restart":
		c.mu.Lock()
		for _, w := range c.workloads {
			if w.name == a.Name && !w.job {
				go c.restart(w)
			}
		}
		c.mu.Unlock()
	case "drift":
		c.drift()
	case "end":
		c.endOne(a.Which)
	case "launch":
		go c.failNext(0)
	case "boot":
		go c.failNext(bootFailsAfter)
	default:
		panic("lab: a load's action " + a.What)
	}
}

// drift changes the template of each NodePool: kwok's provider says nothing of
// its NodeClass.
func (c *Cluster) drift() {
	c.mu.Lock()
	c.drifted = time.Now()
	c.mu.Unlock()
	for _, p := range all[*karpenter.NodePool](c.store) {
		change(c.store, p, func(o *karpenter.NodePool) {
			if o.Spec.Template.Labels == nil {
				o.Spec.Template.Labels = map[string]string{}
			}
			o.Spec.Template.Labels["example.com/changed"] = "yes"
			o.Generation++
		})
	}
}

// claimsThat returns the NodeClaims that are not being deleted and are, or are
// not, initialized, the oldest first.
func (c *Cluster) claimsThat(initialized bool) []*karpenter.NodeClaim {
	var found []*karpenter.NodeClaim
	for _, o := range all[*karpenter.NodeClaim](c.store) {
		is := o.StatusConditions().Get(karpenter.ConditionTypeInitialized).IsTrue()
		if o.DeletionTimestamp == nil && is == initialized {
			found = append(found, o)
		}
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i].CreationTimestamp, found[j].CreationTimestamp
		return a.Before(&b) || a.Equal(&b) && found[i].Name < found[j].Name
	})
	return found
}

func (c *Cluster) deleteClaim(name string) {
	_, _ = c.store.delete(&karpenter.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil)
}

// endOne deletes a machine, as an expiry or an interruption does.
func (c *Cluster) endOne(which float64) {
	if found := c.claimsThat(true); len(found) > 0 {
		c.deleteClaim(found[int(which*float64(len(found)))].Name)
	}
}

// failNext deletes the next NodeClaim that comes.
func (c *Cluster) failNext(after time.Duration) {
	there := map[string]bool{}
	for _, o := range c.claimsThat(false) {
		there[o.Name] = true
	}
	for end := time.Now().Add(failsWithin); time.Now().Before(end); time.Sleep(failsPoll) {
		for _, o := range c.claimsThat(false) {
			if !there[o.Name] {
				time.Sleep(after)
				c.deleteClaim(o.Name)
				return
			}
		}
	}
}

// settle waits until nothing has happened for so long, or until the horizon.
func (c *Cluster) settle(quiet, horizon time.Duration) {
	const poll = 5 * time.Second
	for time.Since(c.begin) < horizon {
		time.Sleep(poll)
		last, held := c.lastChange()
		if !held && time.Since(last) > quiet {
			return
		}
	}
}

// lastChange returns when a pod or a machine last came, changed or went, and
// whether a node is held.
func (c *Cluster) lastChange() (last time.Time, held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	later := func(moments ...time.Time) {
		for _, t := range moments {
			if t.After(last) {
				last = t
			}
		}
	}
	for _, p := range c.pods {
		later(p.created, p.running, p.evicted, p.deleting, p.ended)
	}
	for _, p := range c.past {
		later(p.gone)
	}
	for _, x := range c.claims {
		later(x.created, x.launched, x.disrupted, x.gone)
	}
	for _, spans := range c.holds {
		for _, h := range spans {
			later(h.to)
			held = held || h.to.IsZero()
		}
	}
	return last, held
}

// Run plays the load from now on, and goes on until the cluster has settled.
func (c *Cluster) Run(_ context.Context, quiet, tail time.Duration) *Facts {
	c.begin = time.Now()
	horizon := seconds(c.load.Study.Minutes*60) + tail
	c.Play()
	c.settle(quiet, horizon)
	return c.Facts(horizon)
}
