package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/test/cluster"
)

func TestMedian(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   float64
	}{
		"One":  {[]float64{3}, 3},
		"Odd":  {[]float64{9, 1, 2}, 2},
		"Even": {[]float64{4, 1, 2, 100}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var of []measurement
			for _, v := range c.values {
				of = append(of, measurement{Wall: v})
			}
			if got := median(of, func(m measurement) float64 { return m.Wall }); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestMedians checks that each number and each kind of request has a median of its own, and that phases keep their order.
func TestMedians(t *testing.T) {
	got := medians([][]measurement{
		{{Phase: "create", Wall: 1, HostPeak: 30, Requests: map[string]int{"get pods": 3}}, {Phase: "touch", Wall: 7}},
		{{Phase: "create", Wall: 2, HostPeak: 20}, {Phase: "touch", Wall: 8}},
		{{Phase: "create", Wall: 9, HostPeak: 10, Requests: map[string]int{"get pods": 5}}},
	})
	want := []measurement{
		{Phase: "create", Wall: 2, HostPeak: 20, Requests: map[string]int{"get pods": 3}},
		{Phase: "touch", Wall: 7.5, Requests: map[string]int{}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestTable checks the figures beside each other: a ratio to direct writes, CPU for each parent, memory for each object, and the last row.
func TestTable(t *testing.T) {
	o := &options{parents: 10, children: 9, runs: 1, engine: engineJavaScript}
	r := newResults(o, []subject{{name: directName}, {name: librettoName}, {name: comparedName}})
	for _, s := range r.Subjects {
		twice := 1.0
		if s.Name == comparedName {
			twice = 2
		}
		s.Median = []measurement{
			{Phase: phaseBase, HostPeak: 50 << 20},
			{
				Phase: phaseCreate, Wall: 4 * twice, HostCPU: 0.5 * twice, WorkersCPU: 0.1 * twice, ServerCPU: 3,
				HostPeak: 50<<20 + int64(1e6*twice), HookCalls: 20, Requests: map[string]int{"create configmaps": 90, "update parents/status": 10},
			},
		}
	}
	r.Subjects[0].Median[1] = measurement{
		Phase: phaseCreate, Wall: 2, HostCPU: 0.3, HostPeak: 50 << 20, Requests: map[string]int{"create configmaps": 90},
	}
	var text strings.Builder
	if err := r.write(&text); err != nil {
		t.Fatal(err)
	}
	want := `
base                 wall    CPU            peak        API server  hook calls  requests
  direct             0.00 s  0.00/0.00 s    50/0 MiB    0.0 s       0           no requests
  libretto           0.00 s  0.00/0.00 s    50/0 MiB    0.0 s       0           no requests
  compared           0.00 s  0.00/0.00 s    50/0 MiB    0.0 s       0           no requests

create               wall           CPU                           peak                       API server  hook calls  requests
  direct             2.00 s  x1.00  0.30/0.00 s  30.00 ms/parent  50/0 MiB  +0.0 KB/object   0.0 s       0           90 create
  libretto           4.00 s  x2.00  0.50/0.10 s  60.00 ms/parent  50/0 MiB  +10.0 KB/object  3.0 s       20          90 create, 10 update
  compared           8.00 s  x4.00  1.00/0.20 s  120.00 ms/parent  51/0 MiB  +20.0 KB/object  3.0 s       20          90 create, 10 update
  libretto/compared  x0.50          x0.50                         x0.98                      x1.00       x1.00       x1.00 in all
`
	// The widths of columns are the table writer's business.
	squeeze := func(text string) string {
		var lines []string
		for line := range strings.SplitSeq(text, "\n") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return strings.Join(lines, "\n")
	}
	if d := cmp.Diff(squeeze(want), squeeze(text.String())); d != "" {
		t.Error(d)
	}
}

func TestRequests(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	of := func(r cluster.Request) cluster.Request {
		r.User, r.UserAgent = hostUser, "some-host/1.0"
		return r
	}
	own := cluster.Requests{
		of(cluster.Request{Verb: "create", Resource: "configmaps", Namespace: namespace, Name: "a-0", Code: 201, Time: at(1)}),
		of(cluster.Request{Verb: "create", Resource: "configmaps", Namespace: namespace, Name: "a-1", Code: 409, Time: at(2)}),
		of(cluster.Request{Verb: "patch", Resource: "configmaps", Namespace: namespace, Name: "a-0", Code: 200, Time: at(3)}),
		of(cluster.Request{Verb: "create", Resource: "events", Namespace: namespace, Name: "e", Code: 201, Time: at(9)}),
		of(cluster.Request{Verb: "update", Resource: "parents", Subresource: "status", Namespace: namespace, Name: "a", Code: 200, Time: at(4)}),
		of(cluster.Request{Verb: "update", Group: composites.Group, Resource: "compositecontrollers", Code: 200, Time: at(9)}),
		of(cluster.Request{Verb: "get", URI: "/api", Code: 200, Time: at(9)}),
	}
	others := cluster.Requests{
		{Verb: "create", Resource: "parents", Namespace: namespace, Name: "a", Code: 201, User: hostUser, UserAgent: driverAgent, Time: at(5)},
		{Verb: "list", Resource: "parents", Code: 200, User: hostUser, UserAgent: cluster.UserAgent, Time: at(5)},
		{Verb: "create", Resource: "serviceaccounts", Code: 201, User: "controlplane", UserAgent: "controlplane/1", Time: at(6)},
	}
	made := ofHost(append(others, own...))
	if d := cmp.Diff(own, made); d != "" {
		t.Fatal(d)
	}
	want := map[string]int{
		"create configmaps": 2, "patch configmaps": 1, "create events": 1, "update parents/status": 1, discovery: 1,
		"update compositecontrollers": 1,
	}
	if d := cmp.Diff(want, count(made)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(own[1:2], failed(made)); d != "" {
		t.Error(d)
	}
	if got := writtenChildren(made); got != 1 {
		t.Errorf("got %d written children, want 1: one was refused, and one was written twice", got)
	}
	if got := lastWrite(made, at(0)); got != at(4) {
		t.Errorf("got %s, want the write of the status: nobody waits for an event, or for the status of a definition", got)
	}
	if got := lastWrite(nil, at(7)); got != at(7) {
		t.Errorf("got %s, want the given time", got)
	}
}

// TestWrongOptions checks that what can't be measured is an error before anything is started.
func TestWrongOptions(t *testing.T) {
	good := options{
		parents: 1, children: 1, runs: 1, parallel: 1, workers: 1, writes: 1,
		engine: engineNone, apply: applyDynamic, phases: phaseCreate, bin: "bin",
	}
	for name, change := range map[string]func(*options){
		"-parents":     func(o *options) { o.parents = 0 },
		"-runs":        func(o *options) { o.runs = 0 },
		"-engine":      func(o *options) { o.engine = "lua" },
		"-apply":       func(o *options) { o.apply = "merge" },
		"-phases":      func(o *options) { o.phases = "create,destroy" },
		"-subjects":    func(o *options) { o.subjects = librettoName },                                    // There is no definition for it.
		"-cpus":        func(o *options) { o.cold.cpus = 1 },                                              // Not without -definitions.
		"-definitions": func(o *options) { o.cold = coldOptions{definitions: 1, liftAfter: 1, limit: 1} }, // No hook is a script.
	} {
		o := good
		change(&o)
		if _, err := o.check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got error %v, want one that names it", name, err)
		}
	}
	o := good
	o.hostCommand = "my-host --kubeconfig $KUBECONFIG"
	subjects, err := o.check()
	if err != nil || len(subjects) != 2 || subjects[1].name != hostName {
		t.Errorf("got %v, %v, want direct and host", subjects, err)
	}
}
