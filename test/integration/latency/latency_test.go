// Package latency tests bin/libretto as a process against a real API server that is far away: behind a proxy that delays
// the events of watches and the replies to writes, with others at work on the same objects meanwhile.
package latency

import (
	"fmt"
	"os"
	"strings"
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

// scene is a world whose libretto goes through a proxy. It has Things, which are parents.
type scene struct {
	*env.Env
	proxy *delayproxy.Proxy
}

// newScene starts libretto behind a proxy whose watches lag.
func newScene(t *testing.T, lag time.Duration, flags ...string) *scene {
	t.Helper()
	w := &scene{Env: env.New(t)}
	proxy, err := delayproxy.Start(w.Cluster.Config, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Stop() })
	w.proxy = proxy
	w.Apply(env.CRD(w.Group, "Thing", "Namespaced"))
	w.slow(lag)
	w.Start(append([]string{"--kubeconfig", proxy.Kubeconfig}, flags...)...)
	t.Cleanup(func() { proxy.Set() }) // What is left to do is done before the end.
	return w
}

// slow delays watches, beside what further rules say.
func (w *scene) slow(lag time.Duration, more ...delayproxy.Rule) {
	w.proxy.Set(append(more, delayproxy.Watches(lag))...)
}

// eachLag runs a test with every lag.
func eachLag(t *testing.T, test func(t *testing.T, lag time.Duration)) {
	for _, lag := range lags {
		t.Run(lag.String(), func(t *testing.T) { test(t, lag) })
	}
}

// things is the resource of the parents.
func (w *scene) things() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: w.Group, Version: "v1", Resource: "things"}
}

// define applies a CompositeController of Things with hooks of one script and further fields of the spec, and waits
// until it runs.
func (w *scene) define(name, script string, hooks []string, more string) {
	w.T.Helper()
	var lines []string
	for _, hook := range hooks {
		lines = append(lines, fmt.Sprintf("    %s: {version: v2, script: {engine: JavaScript, inline: %s}}", hook, env.Quote(script)))
	}
	w.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s}
spec:
  parentResource: {apiVersion: %s/v1, resource: things}
  hooks:
%s
%s`, name, w.Group, strings.Join(lines, "\n"), env.Indent(more)))
	w.WaitForCondition(name, "Ready", "True")
}

// thing creates a Thing that selects the label thing=<name>.
func (w *scene) thing(name, spec string) *unstructured.Unstructured {
	w.T.Helper()
	w.Apply(fmt.Sprintf(`
apiVersion: %[1]s/v1
kind: Thing
metadata: {name: %[2]s}
spec:
  selector: {matchLabels: {thing: %[2]s}}
%[3]s`, w.Group, name, env.Indent(spec)))
	return w.Get(w.things(), name)
}

// busy has somebody else change an object so often, until the test is over. patch is given a number that is another
// each time. The object may be gone.
func (w *scene) busy(resource schema.GroupVersionResource, name string, every time.Duration, patch string, subresources ...string) {
	ticker := time.NewTicker(every)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-w.T.Context().Done():
				return
			case <-ticker.C:
				_, _ = w.In(resource).Patch(w.T.Context(), name, types.MergePatchType, fmt.Appendf(nil, patch, n), metav1.PatchOptions{FieldManager: "somebody"}, subresources...)
			}
		}
	}()
	w.T.Cleanup(func() { <-done })
}

// eventually is cluster.Eventually with the patience of this package, for an object that may be absent.
func (w *scene) eventually(resource schema.GroupVersionResource, name string, check func(*unstructured.Unstructured) error) {
	w.T.Helper()
	cluster.Eventually(w.T, patience, func() error { return check(w.Get(resource, name)) })
}
