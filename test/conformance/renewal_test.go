package conformance

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	testclock "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// etagServer is a webhook whose answer can be replaced. It supports If-None-Match.
type etagServer struct {
	mu        sync.Mutex
	answer    string
	asked     int
	confirmed int // Answered by 304.
}

func (r *etagServer) deploy(answer string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *etagServer) calls() (asked, confirmed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked, r.confirmed
}

func (r *etagServer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.Copy(io.Discard, request.Body)
	r.asked++
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(r.answer)))
	w.Header().Set("ETag", tag)
	if request.Header.Get("If-None-Match") == tag {
		r.confirmed++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = io.WriteString(w, r.answer)
}

// countingProgram computes its answer from the request and counts calls.
type countingProgram struct {
	engines.ProgramBase
	mu    sync.Mutex
	calls int
	body  func(request map[string]any) any
}

func (c *countingProgram) Run(_ context.Context, call engines.Call) (engines.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	return engines.Response{Body: c.body(call.Request)}, nil
}

func (c *countingProgram) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// renewalEnv is a running definition with a fake clock.
type renewalEnv struct {
	t       *testing.T
	session *simulation.Session
	clock   *testclock.FakeClock
	parent  *unstructured.Unstructured
}

func newRenewalEnv(t *testing.T, definition string, objects string, programs map[string]engines.Program) *renewalEnv {
	t.Helper()
	r := &renewalEnv{t: t, clock: testclock.NewFakeClock(controllertest.DefaultNow)}
	object, err := readObject([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	all, err := readObjects([]byte(objects))
	if err != nil {
		t.Fatal(err)
	}
	r.parent = all[0].DeepCopy()
	r.parent.SetNamespace("default")
	r.session, err = simulation.Run(t.Context(), simulation.Input{
		Definition: object, Objects: all, Resources: standardResources().list, Programs: programs, Clock: r.clock, Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.session.Close)
	return r
}

// pass makes a pass. It returns the time until the next one, and the parent's status.
func (r *renewalEnv) pass() (time.Duration, map[string]any) {
	r.t.Helper()
	result, err := r.session.Reconcile(r.t.Context(), r.parent)
	if err != nil || result.Err != nil {
		r.t.Fatal(err, result.Err)
	}
	status, _, _ := unstructured.NestedMap(result.Parent.Object, "status")
	return result.RequeueAfter, status
}

// webhookOf compiles an endpoint served by handler.
func webhookOf(t *testing.T, handler http.Handler, etag *engines.Etag) engines.Program {
	t.Helper()
	registry, err := engines.NewRegistry(engines.Config{}, standard.Definitions()...)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := registry.ByName("webhook")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	program, err := engine.Compile(t.Context(), engines.Source{Hook: "hook", Endpoint: &engines.Endpoint{URL: server.URL, Etag: etag}})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

const (
	renewedDefinition = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: things}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: things}
  childResources: [{apiVersion: v1, resource: configmaps}]
  hooks:
    sync: {version: v2, script: {engine: CEL, inline: "{}"}}
    customize: {version: v2, webhook: {url: "http://hooks.invalid/customize"}}
`
	renewedObjects = `
apiVersion: example.com/v1
kind: Thing
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
`
)

func relatedConfigMap(name string) string {
	return fmt.Sprintf(`{"relatedResources": [{"apiVersion": "v1", "resource": "configmaps", "names": [%q]}]}`, name)
}

func newRelatedProgram() *countingProgram {
	return &countingProgram{body: func(request map[string]any) any {
		related, _, _ := unstructured.NestedMap(request, "related", "ConfigMap.v1")
		sees := []any{}
		for key := range related {
			sees = append(sees, key)
		}
		return map[string]any{"status": map[string]any{"sees": sees}, "children": []any{}}
	}}
}

// settled makes passes until nothing is written. It returns the time until the next one.
func (r *renewalEnv) settled(want string) time.Duration {
	r.t.Helper()
	var due time.Duration
	var status map[string]any
	for range 3 {
		due, status = r.pass()
	}
	if sees := fmt.Sprint(status["sees"]); sees != "["+want+"]" {
		r.t.Fatalf("the sync hook sees %s, want [%s]", sees, want)
	}
	return due
}

// TestCustomizeIsRenewed checks that a customize webhook is called again after 20 minutes at most, that its
// parent is reconciled then, and that an unchanged answer causes no call of the sync hook.
func TestCustomizeIsRenewed(t *testing.T) {
	for name, c := range map[string]struct {
		reason, more string
		least, most  time.Duration
		etag         *engines.Etag
	}{
		"by itself":     {"metacontroller keeps answers for 20 minutes", "", 18 * time.Minute, 20 * time.Minute, nil},
		"resync":        {"a definition may want it sooner", "  resyncPeriodSeconds: 60", 54 * time.Second, time.Minute, nil},
		"longer resync": {"but not later", "  resyncPeriodSeconds: 3600", 18 * time.Minute, 20 * time.Minute, nil},
		"etag":          {"then an answer that is the same is confirmed", "", 18 * time.Minute, 20 * time.Minute, &engines.Etag{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			server, sync := &etagServer{answer: relatedConfigMap("one")}, newRelatedProgram()
			programs := map[string]engines.Program{"sync": sync, "customize": webhookOf(t, server, c.etag)}
			r := newRenewalEnv(t, renewedDefinition+c.more, renewedObjects, programs)
			due := r.settled("default/one")
			if due < c.least || due > c.most {
				t.Fatalf("the next pass is due after %s, want from %s to %s", due, c.least, c.most)
			}
			synced := sync.count()
			r.clock.Step(due / 2)
			if due = r.settled("default/one"); due > c.most/2 {
				t.Errorf("half of the time later the next pass is due after %s", due)
			}
			if asked, _ := server.calls(); asked != 1 {
				t.Errorf("asked %d times before the answer expired, want once", asked)
			}
			r.clock.Step(due)
			due = r.settled("default/one")
			if asked, confirmed := server.calls(); asked != 2 || c.etag != nil && confirmed != 1 {
				t.Errorf("asked %d times when the answer has expired, of which %d were confirmed, want twice", asked, confirmed)
			}
			if n := sync.count(); n != synced {
				t.Errorf("the sync hook was called %d times for an answer that is the same", n-synced)
			}
			server.deploy(relatedConfigMap("two"))
			r.clock.Step(due)
			r.settled("default/two")
		})
	}
}

// TestNewKindIsShown checks that new rules that only add an empty group of related objects cause a sync.
func TestNewKindIsShown(t *testing.T) {
	server := &etagServer{answer: `{"relatedResources": []}`}
	groups := &countingProgram{body: func(request map[string]any) any {
		related, _ := request["related"].(map[string]any)
		return map[string]any{"status": map[string]any{"groups": int64(len(related))}, "children": []any{}}
	}}
	programs := map[string]engines.Program{"sync": groups, "customize": webhookOf(t, server, nil)}
	r := newRenewalEnv(t, renewedDefinition, renewedObjects, programs)
	r.pass()
	due, _ := r.pass()
	server.deploy(relatedConfigMap("none"))
	r.clock.Step(due)
	if _, status := r.pass(); status["groups"] != int64(1) {
		t.Errorf("status %v, want one group", status)
	}
}

// TestScriptedCustomizeIsKept checks that a script's answer does not expire: it changes only with the
// script's revision.
func TestScriptedCustomizeIsKept(t *testing.T) {
	var rules map[string]any
	customize := &countingProgram{body: func(map[string]any) any {
		rules = map[string]any{"relatedResources": []any{map[string]any{"apiVersion": "v1", "resource": "configmaps", "names": []any{"one"}}}}
		return rules
	}}
	r := newRenewalEnv(t, renewedDefinition, renewedObjects, map[string]engines.Program{"sync": newRelatedProgram(), "customize": customize})
	if due := r.settled("default/one"); due != 0 {
		t.Errorf("the next pass is due after %s, want none", due)
	}
	r.clock.Step(24 * time.Hour)
	r.settled("default/one")
	if n := customize.count(); n != 1 {
		t.Errorf("the script was asked %d times, want once", n)
	}
}

// TestMapIsRenewed checks the same for the answers that a map caches for each input.
func TestMapIsRenewed(t *testing.T) {
	server := &etagServer{answer: `{"outputs": []}`}
	r := newRenewalEnv(t, `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: MapController
metadata: {name: leaves}
spec:
  parentResource: {apiVersion: example.com/v1, resource: buckets}
  inputResources: [{apiVersion: example.com/v1, resource: leaves}]
  outputResources: [{apiVersion: v1, resource: configmaps}]
  hooks:
    map: {webhook: {url: "http://hooks.invalid/map"}}
`, `
apiVersion: example.com/v1
kind: Bucket
metadata: {name: b}
spec: {selector: {matchLabels: {app: a}}}
---
apiVersion: example.com/v1
kind: Leaf
metadata: {name: one, labels: {app: a}}
`, map[string]engines.Program{"map": webhookOf(t, server, nil)})
	r.pass()
	due, _ := r.pass()
	if due < 18*time.Minute || due > 20*time.Minute {
		t.Fatalf("the next pass is due after %s, want 18 to 20 minutes", due)
	}
	before, _ := server.calls()
	r.clock.Step(due)
	r.pass()
	if after, _ := server.calls(); after != before+1 {
		t.Errorf("the webhook was asked %d times after 20 minutes, want once", after-before)
	}
}
