// Package chaos runs two hosts on a real API server, with definitions of all kinds and update methods, edits their scripts and parents
// again and again, and has something go wrong during each edit. Then the cluster must come to the state that it has without faults, and the
// history of all writes must be one that the rules of package history allow.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/chaos/history"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/delayproxy"
	"github.com/libretto-k8s/libretto/test/env"
)

// Options say what is run.
type Options struct {
	// Seed determines the faults: which, in which order, and how.
	Seed uint64
	// Faults is how many there are.
	Faults int
	// Kind is a part of the name of the only kind of faults that there are, if it is not empty.
	Kind string
	// Only names the numbers of the faults that are run, beginning with 1. Without any all are.
	Only []int
}

// The bounds of waits.
const (
	pollInterval = 25 * time.Millisecond
	// injectTimeout is how long a fault and the edit during it may take together.
	injectTimeout = 90 * time.Second
	// settleTimeout is how long the cluster may take to come to its end state after a fault. A host that takes many edits a minute for a loop
	// leaves a status alone for a minute.
	settleTimeout = 100 * time.Second
	// recoverTimeout is how long it may take after a fault that has failed the test.
	recoverTimeout = 2 * time.Minute
	// maxFailed is after how many of these the run ends.
	maxFailed = 5
)

// baselineEdits are those without a fault. The state after the last is what others come to: by then histories have their full length.
const baselineEdits = 2

// Main runs the tests of a package with a control plane that can be killed and started again.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	port, err := freePort()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cluster.MainWith(m, cluster.Options{Dir: filepath.Join(dir, "plane"), Port: port, AuditBodies: true})
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// run is one run of all faults.
type run struct {
	world
	Options
	replicas []*replica
	checker  *history.Checker
	mark     cluster.Mark
	baseline string
	// edits is the number of the last edit.
	edits int
}

// Run injects the faults one after another, and fails the test at the first that shows something.
func Run(t *testing.T, o Options) {
	e := env.New(t)
	r := &run{Options: o, world: world{Env: e, scripts: t.TempDir(), lease: "metacontroller"}}
	r.checker = history.NewChecker(r.model())
	r.mark = e.Mark()
	r.create()
	r.start()
	for range baselineEdits {
		e.NoError(r.edit(t.Context(), r.nextEdit()))
		r.baseline = ""
		began := time.Now()
		e.NoError(r.settle(t.Context(), recoverTimeout))
		t.Logf("edit %d, without a fault: %s until all is as it should be", r.edits, time.Since(began).Round(10*time.Millisecond))
	}
	e.NoError(r.checkHistory(t.Context()))
	began := time.Now()
	ran, failed := map[string]int{}, 0
	for n := 1; n <= o.Faults; n++ {
		if len(o.Only) > 0 && !slices.Contains(o.Only, n) {
			continue
		}
		f, err := o.choose(n)
		e.NoError(err)
		ran[f.name]++
		if err := r.one(t.Context(), n, f); err != nil {
			repeat := fmt.Sprintf("make chaos SEED=%d KIND='%s'", o.Seed, o.Kind)
			t.Errorf("fault %d, %s: %v\n\nrepeat it with\n    %s ONLY=%[1]d\n    %[4]s FAULTS=%[1]d", n, f.name, err, repeat)
			r.showLogs()
			if failed++; failed == maxFailed {
				t.Fatalf("%d faults of %d have shown something", failed, total(ran))
			}
			e.NoError(r.settle(t.Context(), recoverTimeout)) // What comes after it is judged for itself.
			_ = r.checkHistory(t.Context())
		}
	}
	t.Logf("%d faults of %d kinds with seed %d in %s, of which %d have shown something",
		total(ran), len(ran), o.Seed, time.Since(began).Round(time.Second), failed)
}

func total(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

func (r *run) nextEdit() int {
	r.edits++
	return r.edits
}

// start starts two replicas.
func (r *run) start() {
	r.T.Helper()
	for _, name := range []string{"a", "b"} {
		r.NoError(r.join(name))
	}
	r.T.Cleanup(func() {
		for _, replica := range r.replicas {
			if err := replica.stop(); err != nil {
				r.T.Error(err)
			}
		}
	})
}

// showLogs shows what the hosts have logged since the last fault began.
func (r *run) showLogs() {
	r.T.Helper()
	for _, replica := range r.replicas {
		r.T.Logf("the log of host %s:\n%s", replica.name, replica.log())
	}
}

// join adds a replica.
func (r *run) join(name string) error {
	added, err := startReplica(r.Cluster, name, r.T.TempDir(), "--leader-elect", "--leader-elect-resource-namespace="+r.Namespace,
		"--namespace="+r.Namespace, "--target-label-selector=test="+r.Namespace, "--scripts-dir="+r.scripts,
		"--leader-elect-lease-duration="+leaseDuration.String(), "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=300ms")
	if err == nil {
		r.replicas = append(r.replicas, added)
	}
	return err
}

// leaseDuration is short, so that less time is waited for it.
const leaseDuration = 3 * time.Second

// one injects a fault during an edit, and waits for the end state.
func (r *run) one(ctx context.Context, n int, f fault) error {
	began := time.Now()
	for _, replica := range r.replicas {
		replica.forget()
	}
	i := &injection{run: r, number: n, rand: rand.New(rand.NewPCG(r.Seed, uint64(n))), seed: r.Seed + uint64(n)}
	injecting, cancel := context.WithTimeout(ctx, injectTimeout)
	defer cancel()
	i.countWrites()
	end, err := f.inject(injecting, i)
	if err != nil {
		return fmt.Errorf("inject: %w", err)
	}
	r.T.Logf("fault %d of %d: %s %s", n, r.Faults, f.name, i.detail)
	err = r.edit(injecting, r.nextEdit())
	if end != nil {
		err = errors.Join(err, end(injecting))
	}
	hits := i.hits()
	i.each(func(p *delayproxy.Proxy) { p.Set(); p.SetFaults(0) })
	if err != nil {
		return err
	}
	faulty := time.Since(began)
	r.approves, r.tookBack = f.refuses(), false
	if err := r.settle(ctx, settleTimeout); err != nil {
		return err
	}
	r.T.Logf("    %s with the fault, which hit %d requests, %s until all is as it should be",
		faulty.Round(10*time.Millisecond), hits, (time.Since(began) - faulty).Round(10*time.Millisecond))
	return r.checkHistory(ctx)
}

// settle waits until the cluster has the state that it has without faults.
func (r *run) settle(ctx context.Context, bound time.Duration) error {
	var difference string
	return until(ctx, bound, func(ctx context.Context) error {
		now, err := r.snapshot(ctx, r.edits)
		if err != nil {
			return err
		}
		if r.baseline == "" {
			if unready := r.notServing(now); unready != nil {
				return unready
			}
			r.baseline = now
		}
		if difference = cmp.Diff(strings.Split(r.baseline, "\n"), strings.Split(now, "\n")); difference != "" {
			return fmt.Errorf("the state is another one than without a fault: -without +with\n%s", difference)
		}
		return nil
	})
}

// notServing says what of a state can't be that of an end: children and parents without the newest value, and definitions that roll out.
func (r *run) notServing(state string) error {
	for _, s := range sets {
		if s.kind != "" && !strings.Contains(state, "definition "+r.nameOf(s)) {
			return fmt.Errorf("no definition %s", s.name)
		}
	}
	for _, unready := range []string{"RollingOut", "Ready False", "Ready Unknown", "ParentsSynced False", "ParentsSynced Unknown"} {
		if strings.Contains(state, unready) {
			return fmt.Errorf("a definition is on its way:\n%s", state)
		}
	}
	want := 0
	for _, s := range sets {
		want += s.parents * s.children
		if s.guests {
			want += s.children
		}
	}
	if got := len(newestChild.FindAllString(state, -1)); got < want-2 { // All but those of OnDelete.
		return fmt.Errorf("%d children have the newest value, want %d:\n%s", got, want-2, state)
	}
	if old := oldStatus.FindString(state); old != "" {
		return fmt.Errorf("a parent has an older value:\n%s", state)
	}
	return nil
}

// newestChild and oldStatus match a child with the newest value and the status of a parent with another one in the text of a state.
var (
	newestChild = regexp.MustCompile(`\ndata:\n(?:  note: .*\n)?  value: NOW`)
	oldStatus   = regexp.MustCompile(`\nstatus:\n(?:  .*\n)*  value: v`)
)

// checkHistory judges the writes since it was called last, and how hosts have ended.
func (r *run) checkHistory(ctx context.Context) error {
	var found []string
	for _, replica := range r.replicas {
		found = append(found, replica.takeFindings()...)
	}
	next, err := r.Cluster.Mark(ctx)
	if err != nil {
		return err
	}
	requests, err := r.Cluster.Requests(ctx, r.mark, "")
	if err != nil {
		return err
	}
	r.mark = next
	writes, err := history.Read(requests.Filter(func(request cluster.Request) bool {
		return request.Namespace == r.Namespace || request.Group == env.CompositeControllers.Group
	}))
	if err != nil {
		return err
	}
	for _, finding := range r.checker.Check(writes) {
		found = append(found, finding.String())
	}
	r.T.Logf("    %d writes by hosts", history.CountDone(writes))
	if len(found) > 0 {
		return fmt.Errorf("%d findings:\n  %s\n\nthe writes:\n%s", len(found), strings.Join(found, "\n  "), list(writes))
	}
	return nil
}

func list(writes []history.Write) string {
	var text strings.Builder
	for _, w := range writes {
		if w.Resource != "leases" && w.Resource != "events" {
			fmt.Fprintf(&text, "    %s\n", w)
		}
	}
	return text.String()
}

// leases is the resource of the lease.
var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// leaseNow returns the lease.
func (w *world) leaseNow(ctx context.Context) (*unstructured.Unstructured, error) {
	return w.In(leases).Get(ctx, w.lease, metav1.GetOptions{})
}

// until calls check until it returns no error, or the time is over, and returns its last error.
func until(ctx context.Context, bound time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // The last one may only say that the time is over.
			last = err
		}
		if pause(ctx, pollInterval) != nil {
			return fmt.Errorf("not within %s: %w", bound, last)
		}
	}
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
