// Package latency tests bin/libretto as a process against a real API server that is far away: behind a proxy that delays
// the events of watches and the replies to writes, with others at work on the same objects meanwhile.
package latency

import (
	"fmt"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/delayproxy"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// lags are how late watches are.
var lags = []time.Duration{300 * time.Millisecond, 2 * time.Second}

// patience is how long something may take that others could keep from happening at all. It needs a few times the lag.
const patience = 30 * time.Second

// delayedEnv is an Env whose libretto talks to the API server through a proxy that delays. Its parents are Things.
type delayedEnv struct {
	*env.Env
	proxy *delayproxy.Proxy
}

// newEnv starts libretto behind a proxy whose watches lag.
func newEnv(t *testing.T, lag time.Duration, flags ...string) *delayedEnv {
	t.Helper()
	e := &delayedEnv{Env: env.NewWithThings(t)}
	proxy, err := delayproxy.Start(e.Cluster.Config, t.TempDir())
	env.NoError(t, err)
	t.Cleanup(func() { _ = proxy.Stop() })
	e.proxy = proxy
	e.slow(lag)
	e.Start(append([]string{"--kubeconfig", proxy.Kubeconfig}, flags...)...)
	t.Cleanup(func() { proxy.Set() }) // The end does not wait for delays.
	return e
}

// slow delays watches, and what more rules say.
func (e *delayedEnv) slow(lag time.Duration, more ...delayproxy.Rule) {
	e.proxy.Set(append(more, delayproxy.Watches(lag))...)
}

// eachLag runs a test with every lag.
func eachLag(t *testing.T, test func(t *testing.T, lag time.Duration)) {
	for _, lag := range lags {
		t.Run(lag.String(), func(t *testing.T) { test(t, lag) })
	}
}

// define applies a CompositeController of Things with hooks of one script and more lines of the spec, and waits until it
// is ready.
func (e *delayedEnv) define(suffix, script string, hooks []string, more string) string {
	e.T.Helper()
	return e.DefineReady(env.Composite, suffix, e.Parent("things", ""), env.Hooks(script, hooks...), more)
}

// applyThing applies a Thing that selects the label thing=<name>.
func (e *delayedEnv) applyThing(name, spec string) *unstructured.Unstructured {
	e.T.Helper()
	return e.ApplyThing(name, "", fmt.Sprintf("selector: {matchLabels: {thing: %s}}\n%s", name, spec))
}

// keepPatching patches an object at an interval until the test ends, as another writer. The patch is formatted with a
// number that differs each time. The object may be gone.
func (e *delayedEnv) keepPatching(resource schema.GroupVersionResource, name string, every time.Duration, patch string,
	subresources ...string) {
	ticker := time.NewTicker(every)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-e.T.Context().Done():
				return
			case <-ticker.C:
				_, _ = e.In(resource).Patch(e.T.Context(), name, types.MergePatchType, fmt.Appendf(nil, patch, n),
					metav1.PatchOptions{FieldManager: "other-writer"}, subresources...)
			}
		}
	}()
	e.T.Cleanup(func() { <-done })
}

// eventually is cluster.Eventually with the patience of this package, for an object that may be absent.
func (e *delayedEnv) eventually(resource schema.GroupVersionResource, name string, check func(*unstructured.Unstructured) error) {
	e.T.Helper()
	cluster.Eventually(e.T, patience, func() error { return check(e.Get(resource, name)) })
}
