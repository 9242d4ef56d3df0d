// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"sigs.k8s.io/karpenter/kwok/apis/v1alpha1"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	kwokoptions "sigs.k8s.io/karpenter/kwok/options"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
)

// Job is one run: a load under a policy.  tests/study/lab.py writes it.
type Job struct {
	Load string `json:"load"` // a file
	// Types is a file of instance types, as kwok's provider reads it.  Without
	// it Karpenter chooses from kwok's own, by the load's menu.
	Types string `json:"types"`
	Seed  int64  `json:"seed"` // of everything but the load
	// Disruption is spec.disruption of the NodePools.
	Disruption karpenter.Disruption `json:"disruption"`
	// Holder is the holder's configuration, as YAML.  Without it there is no
	// holder.
	Holder string `json:"holder"`
	// JobsStay and Grace are for karpenter.sh/do-not-disrupt on the pods: "true"
	// on those of Jobs, or a time of grace on all.
	JobsStay bool   `json:"jobs_stay"`
	Grace    string `json:"grace"`
	// PDB: each Deployment has a PodDisruptionBudget with maxUnavailable 1.
	PDB bool `json:"pdb"`
	// QuietS: the run ends when nothing has happened for so long.
	QuietS float64 `json:"quiet_s"`
	// TailS: every run is billed for so long after its load.
	TailS float64 `json:"tail_s"`
}

// ReadJob reads a Job.
func ReadJob(file string) (*Job, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	j := &Job{}
	if err := json.Unmarshal(raw, j); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return j, nil
}

const (
	bootAfter = 30 * time.Second // from a NodeClaim to its Node
	// warmUp is for Karpenter's first lists, before the load begins.
	warmUp = 20 * time.Second
)

// annotate gives the pods of the load what the policy says.
func (j *Job) annotate(l *Load) {
	for i := range l.Events {
		t := l.Events[i].template()
		if t == nil {
			continue
		}
		value := j.Grace
		if value == "" && j.JobsStay && l.Events[i].Kind == "Job" {
			value = "true"
		}
		if value != "" {
			t.Annotations[karpenter.DoNotDisruptAnnotationKey] = value
		}
	}
}

// Run plays the job.  It must be called in a bubble of testing/synctest, and
// leaves Karpenter's goroutines behind, which never end.
func (j *Job) Run() (*Facts, error) {
	// A real cluster begins at any moment of a second, and many times are kept
	// in full seconds.
	time.Sleep(time.Duration(rand.New(rand.NewSource(j.Seed)).Int63n(int64(time.Second))))
	load, err := ReadLoad(j.Load)
	if err != nil {
		return nil, err
	}
	j.annotate(load)
	ctx, err := j.karpenterOptions(log.IntoContext(context.Background(), logr.Discard()))
	if err != nil {
		return nil, err
	}
	types, err := j.instanceTypes(ctx, load.Study.Menu)
	if err != nil {
		return nil, err
	}
	if err := load.fits(types); err != nil {
		return nil, fmt.Errorf("%s: %w", j.Load, err)
	}
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())

	mapper := meta.NewDefaultRESTMapper(nil)
	store := NewStore(scheme.Scheme, mapper, j.Seed)
	cluster := NewCluster(store, load, j.Seed)
	cluster.pdb = j.PDB
	if cluster.daemons, err = newDaemons(ctx, store, load.Study.Daemon); err != nil {
		return nil, err
	}
	store.Admit = cluster.Admit
	if j.Holder != "" {
		holder, err := NewHolder(store, j.Holder, j.Seed)
		if err != nil {
			return nil, err
		}
		store.Admit = func(ctx context.Context, obj client.Object) {
			cluster.Admit(ctx, obj)
			holder.Admit(obj)
		}
		go holder.Run()
	}
	if err := j.createPools(ctx, store, load); err != nil {
		return nil, err
	}
	if err := startKarpenter(ctx, store, mapper, types); err != nil {
		return nil, err
	}
	go cluster.schedule()
	time.Sleep(warmUp)
	return cluster.Run(ctx, seconds(j.QuietS), seconds(j.TailS)), nil
}

// karpenterOptions are the flags of Karpenter and of its kwok provider.
func (j *Job) karpenterOptions(ctx context.Context) (context.Context, error) {
	opts := &options.Options{}
	fs := &options.FlagSet{FlagSet: flag.NewFlagSet("karpenter", flag.ContinueOnError)}
	opts.AddFlags(fs)
	// The observability controllers only publish metrics, all the time.
	err := opts.Parse(fs, "-disable-leader-election=true", "-disable-cluster-state-observability=true")
	return (&kwokoptions.Options{InstanceTypesFilePath: j.Types}).ToContext(opts.ToContext(ctx)), err
}

// startKarpenter starts all controllers of Karpenter.
func startKarpenter(ctx context.Context, store *Store, mapper meta.RESTMapper, types []*cloudprovider.InstanceType) error {
	mgr, err := newManager(ctx, store, mapper)
	if err != nil {
		return err
	}
	overlays := nodeoverlay.NewInstanceTypeStore()
	provider := kwok.NewCloudProvider(ctx, store, types)
	decorated := overlay.Decorate(provider, store, overlays)
	clk := clock.RealClock{} // the bubble's time
	nodes := state.NewCluster(clk, store, decorated)
	for _, c := range controllers.NewControllers(ctx, mgr, clk, store, events.NewRecorder(recorder{store}),
		decorated, provider, nodes, overlays) {
		if err := c.Register(ctx, mgr); err != nil {
			return err
		}
	}
	go func() {
		if err := mgr.Start(ctx); err != nil {
			panic(err)
		}
	}()
	return nil
}

// newManager makes a real Manager over the store.
func newManager(ctx context.Context, store *Store, mapper meta.RESTMapper) (manager.Manager, error) {
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme: store.Scheme(), Logger: logr.Discard(),
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return Cache{store}, nil },
		NewClient:      func(*rest.Config, client.Options) (client.Client, error) { return store, nil },
		Metrics:        server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", PprofBindAddress: "0",
		BaseContext: func() context.Context { return ctx },
		Controller:  config.Controller{SkipNameValidation: ptr.To(true)},
	})
	return prioritized{mgr}, err
}

// instanceTypes returns the types of the file, or those of kwok that are on the
// menu.
func (j *Job) instanceTypes(ctx context.Context, menu Menu) ([]*cloudprovider.InstanceType, error) {
	every, err := kwok.ConstructInstanceTypes(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.Types, err)
	}
	if j.Types != "" {
		return every, checkTypes(j.Types, every)
	}
	one := func(t *cloudprovider.InstanceType, label string) string { return t.Requirements.Get(label).Any() }
	var on []*cloudprovider.InstanceType
	for _, t := range every {
		if one(t, corev1.LabelArchStable) != "amd64" || one(t, corev1.LabelOSStable) != "linux" ||
			!slices.Contains(menu.Families, one(t, v1alpha1.InstanceFamilyLabelKey)) ||
			!slices.Contains(menu.CPUs, one(t, v1alpha1.InstanceCPULabelKey)) {
			continue
		}
		t.Offerings = slices.DeleteFunc(t.Offerings, func(o *cloudprovider.Offering) bool {
			return !slices.Contains(menu.Capacity, o.Requirements.Get(karpenter.CapacityTypeLabelKey).Any())
		})
		on = append(on, t)
	}
	if len(on) == 0 {
		return nil, fmt.Errorf("the menu: kwok has no type of the families %v with %v cpus", menu.Families, menu.CPUs)
	}
	return on, nil
}

// createPools creates the NodeClass and the NodePools, as tests/study/play.py
// does.
func (j *Job) createPools(ctx context.Context, store *Store, load *Load) error {
	class := &v1alpha1.KWOKNodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec:       v1alpha1.KWOKNodeClassSpec{NodeRegistrationDelay: metav1.Duration{Duration: bootAfter}},
	}
	class.Status.Conditions = []status.Condition{{
		Type: status.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready",
		ObservedGeneration: 1, LastTransitionTime: metav1.Now()}}
	if err := store.Create(ctx, class); err != nil {
		return err
	}
	menu := load.Study.Menu
	in := func(key string, values ...string) karpenter.NodeSelectorRequirementWithMinValues {
		return karpenter.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	requirements := []karpenter.NodeSelectorRequirementWithMinValues{
		in(corev1.LabelArchStable, "amd64"), in(corev1.LabelOSStable, "linux")}
	if j.Types == "" {
		requirements = append(requirements,
			in(karpenter.CapacityTypeLabelKey, menu.Capacity...),
			in(v1alpha1.InstanceFamilyLabelKey, menu.Families...),
			in(v1alpha1.InstanceCPULabelKey, menu.CPUs...))
	}
	for _, name := range load.pools() {
		pool := &karpenter.NodePool{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: karpenter.NodePoolSpec{
				Disruption: j.Disruption,
				Template: karpenter.NodeClaimTemplate{Spec: karpenter.NodeClaimTemplateSpec{
					NodeClassRef: &karpenter.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: class.Name},
					ExpireAfter:  karpenter.MustParseNillableDuration("Never"),
					Requirements: requirements,
				}},
			},
		}
		if err := store.Create(ctx, pool); err != nil {
			return err
		}
	}
	return nil
}
