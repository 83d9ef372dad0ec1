package webhooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

// resynced answers as the hook of metacontroller's TestResyncAfter does: it waits until its status is there, asks for a call in a tenth of
// a second, and answers with the time until that.
func resynced(object, list string) http.HandlerFunc {
	var mu sync.Mutex
	var asked time.Time
	done := false
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var request map[string]any
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		status := request[object].(map[string]any)["status"]
		answer := map[string]any{list: []any{}}
		switch {
		case status == nil:
			answer["status"] = map[string]any{}
		case asked.IsZero():
			asked = time.Now()
			answer["resyncAfterSeconds"] = 0.1
		case !done:
			done = true
			answer["status"] = map[string]any{"elapsedSeconds": time.Since(asked).Seconds()}
		default:
			answer["status"] = status
		}
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// resyncedScript does the same. Its status is its memory.
const resyncedScript = `const answer = ({status}) => {
  if (status === undefined) return {status: {}};
  if (status.elapsedSeconds !== undefined) return {status};
  if (status.asked === undefined) return {status: {asked: Date.now()}, resyncAfterSeconds: 0.1};
  const elapsedSeconds = (Date.now() - status.asked) / 1000;
  return elapsedSeconds < 0.1 ? {status, resyncAfterSeconds: 0.1} : {status: {elapsedSeconds}};
};
`

// TestResyncAfter stands for the tests of that name of metacontroller's own suite.
func TestResyncAfter(t *testing.T) {
	e := env.NewRunning(t)
	cases := map[string]struct {
		kind, object, list, spec string
	}{
		"Composite": {env.Composite, "parent", "children", "generateSelector: true\n" + e.Parent("things", "composite")},
		"Decorator": {env.Decorator, "object", "attachments", e.Targets("things", "decorator")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			set := map[string]string{"Composite": "composite", "Decorator": "decorator"}[name]
			server := serve(t, nil)
			server.says(resynced(tc.object, tc.list))
			hooks := map[string]string{
				"webhook": "hooks: {sync: " + webhook(server.URL) + "}",
				"script":  env.Hooks(resyncedScript+fmt.Sprintf("export const sync = ({%s: object}) => ({%s: [], ...answer(object)});", tc.object, tc.list), "sync"),
			}
			for by, hook := range hooks {
				e := e.WithT(t)
				definition := e.DefineReady(tc.kind, "-"+set+"-"+by, tc.spec, hook)
				thing := set + "-" + by
				e.ApplyThing(thing, "set: "+set, "")
				var elapsed float64
				e.WaitFor(e.Things(), thing, func(o *unstructured.Unstructured) (err error) {
					var found bool
					if elapsed, found, err = unstructured.NestedFloat64(o.Object, "status", "elapsedSeconds"); err == nil && !found {
						err = fmt.Errorf("no time in %v", o.Object["status"])
					}
					return err
				})
				if t.Logf("%s: %.3f s", by, elapsed); elapsed < 0.1 || elapsed >= 1 {
					t.Errorf("%s: the resync came after %v s, want 0.1", by, elapsed)
				}
				e.WaitForQuiet()
				e.Delete(e.Things(), e.Namespace, thing)
				e.Delete(env.Definitions(tc.kind), "", definition)
			}
		})
	}
}

// TestResyncsWithoutEnd has a hook that always asks for a call in a tenth of a second.
func TestResyncsWithoutEnd(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	var mu sync.Mutex
	var calls []time.Time
	server.says(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, time.Now())
		fmt.Fprint(w, `{"children": [], "resyncAfterSeconds": 0.1}`)
	})
	define(e, "endless", webhook(server.URL), "")
	applyThing(e, "endless", "endless")
	e.Eventually(func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(calls) < 2 || calls[len(calls)-1].Sub(calls[0]) < 8*time.Second {
			return fmt.Errorf("%d calls", len(calls))
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	// Besides the resyncs, the write of the status and a start cost a call.
	if took := calls[len(calls)-1].Sub(calls[0]); len(calls) > 10+int(took.Seconds())+4 {
		t.Errorf("%d calls in %s, want one in a second after the first ten", len(calls), took)
	}
	if first := calls[3].Sub(calls[0]); first > time.Second {
		t.Errorf("the first resyncs took %s", first)
	}
}
