// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const pods = `{"spec": {"template": {"metadata": {"annotations": {%s}}, "spec": {"containers": [
	{"resources": {"requests": {"cpu": %q, "memory": %q}}}, {"resources": {"requests": {"cpu": "100m"}}}]}}}}`

const times = `"pod-ready.stage.kwok.x-k8s.io/delay": "1s", "pod-delete.stage.kwok.x-k8s.io/delay": "1s"`

// loadWith returns a load whose second event's pods make these requests.
func loadWith(t *testing.T, cpu, memory string) *Load {
	t.Helper()
	event := `{"type": %q, "kind": "Deployment", "key": "a/web", "timestamp": "2026-01-01T00:00:00Z", "deployment": %s}`
	raw := fmt.Sprintf(`{"events": [`+event+","+event+`]}`,
		"create", fmt.Sprintf(pods, times, "1", "1Gi"), "create", fmt.Sprintf(pods, times, cpu, memory))
	l := &Load{}
	if err := json.Unmarshal([]byte(raw), l); err != nil {
		t.Fatal(err)
	}
	return l
}

func says(t *testing.T, err error, want string) {
	t.Helper()
	if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) && want != "" {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPodsThatNoMachineHasRoomFor(t *testing.T) {
	j := &Job{}
	ctx, err := j.karpenterOptions(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	types, err := j.instanceTypes(ctx, Menu{CPUs: []string{"2", "8"}, Families: []string{"c"}, Capacity: []string{"on-demand"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ cpu, memory, want string }{
		{"7", "1Gi", ""},
		{"8", "1Gi", "events[1]: its pods ask for 8100 milli cpus and 1024 MiB"},
		{"1", "17Gi", "events[1]: its pods ask for 1100 milli cpus and 17408 MiB"},
	} {
		says(t, loadWith(t, c.cpu, c.memory).fits(types), c.want)
	}
}

func TestAMenuThatKwokDoesNotHave(t *testing.T) {
	j := &Job{}
	ctx, err := j.karpenterOptions(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.instanceTypes(ctx, Menu{CPUs: []string{"3"}, Families: []string{"c"}})
	says(t, err, "kwok has no type of the families [c] with [3] cpus")
}

// typesFile returns a job with this file of instance types.
func typesFile(t *testing.T, text string) (*Job, context.Context) {
	t.Helper()
	j := &Job{Types: filepath.Join(t.TempDir(), "types.json")}
	if err := os.WriteFile(j.Types, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, err := j.karpenterOptions(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return j, ctx
}

func TestAFileOfInstanceTypes(t *testing.T) {
	one := func(name, resources, offering string) string {
		return fmt.Sprintf(`[{"name": %q, "architecture": "amd64", "operatingSystems": ["linux"],
			"resources": {%s}, "offerings": [%s]}]`, name, resources, offering)
	}
	resources := `"cpu": "4", "memory": "16Gi", "pods": "58"`
	zone := `{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}`
	capacity := `{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}`
	offering := fmt.Sprintf(`{"Price": 0.2, "Requirements": [%s, %s]}`, zone, capacity)
	for _, c := range []struct{ text, want string }{
		{one("m7i.xlarge", resources, offering), ""},
		{"{}", "types.json: could not parse JSON data"},
		{"[]", "types.json: expected instance types"},
		{one("", resources, offering), "types.json: [0]: expected a name"},
		{one("m7i.xlarge", `"cpu": "4"`, offering), "m7i.xlarge: expected resources with cpu and memory"},
		{one("m7i.xlarge", resources, ""), "m7i.xlarge: expected offerings"},
		{one("m7i.xlarge", resources, strings.Replace(offering, "0.2", "0", 1)), "expected of each offering a price"},
		{one("m7i.xlarge", resources, fmt.Sprintf(`{"Price": 1, "Requirements": [%s]}`, capacity)), "a zone"},
	} {
		j, ctx := typesFile(t, c.text)
		types, err := j.instanceTypes(ctx, Menu{})
		says(t, err, c.want)
		if c.want == "" {
			says(t, loadWith(t, "3", "8Gi").fits(types), "")
			says(t, loadWith(t, "4", "8Gi").fits(types), "events[1]")
		}
	}
}

func TestGraceIsOnThePods(t *testing.T) {
	l := loadWith(t, "1", "1Gi")
	(&Job{Grace: "30m"}).annotate(l)
	for i := range l.Events {
		if got := l.Events[i].template().Annotations["karpenter.sh/do-not-disrupt"]; got != "30m" {
			t.Errorf("events[%d]: %q", i, got)
		}
	}
}
