//go:build linux

package hostile

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/engines"
)

// victim is a hook that is good, and that the objects of a tenant make do what costs workers.
const victim = `export function sync({parent: {metadata: {name}}}) {
  if (name.startsWith('busy')) { let n = 0; for (let i = 0; i < 1e5; i++) n += i % 7; return {n} }
  if (name.startsWith('loop')) for (;;);
  if (name.startsWith('native')) Array.prototype.indexOf.call({length: 2**53-1}, 1);
  if (name.startsWith('memory')) return 'x'.repeat(2**40);
  if (name.startsWith('objects')) { const all = []; for (;;) all.push({a: [all.length]}) }
  return {status: {name}};
}`

var objectsMade atomic.Int64

// tenantCalls returns calls of one definition about objects of a namespace: the first ones again and
// again, or new ones each time.
func tenantCalls(namespace, kind string, fresh bool) func() engines.Call {
	return func() engines.Call {
		n := objectsMade.Add(1)
		if !fresh {
			n %= attackers
		}
		call := request(fmt.Sprintf("%s-%d", kind, n))
		call.Seed = fmt.Sprintf("%s/%s-%d", namespace, kind, n)
		call.Owner, call.Origin = "shared", engines.Origin{ID: call.Seed, Namespace: namespace}
		return call
	}
}

// TestTenants calls the hook of a definition about the objects of one tenant, while those of another one
// attack it: in a first spell each of these may cost a worker, and in a second one, which counts, no call
// may wait for them. The p50 must be noise. The p99 must be at most double of what it is beside a tenant
// whose objects are much work, and noise and starts, as in TestNeighbours.
func TestTenants(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector changes what costs what")
	}
	for _, kind := range []string{"loop", "native", "memory", "objects"} {
		for _, fresh := range []bool{false, true} {
			name := kind
			if fresh {
				name += ", new objects"
			}
			t.Run(name, func(t *testing.T) {
				s := newSharedPool(t)
				program := s.program(t, one("JavaScript", "sync.js", victim))
				for n := range attempts {
					beside := measureTenant(t, program, tenantCalls("a", "busy", fresh))
					attack := tenantCalls("a", kind, fresh)
					first := measureTenant(t, program, attack)
					under := measureTenant(t, program, attack)
					start := startOfWorker(t)
					t.Logf("busy tenant: %v; attack: %v, then %v; start of a worker: %v", beside, first, under, start)
					if why := program.CircuitOpen(); why != nil {
						t.Fatalf("the program rests: %v", why)
					}
					most := 2*beside.p99 + noise + starts*start
					if under.p99 <= most && under.p50 <= noise {
						return
					}
					if n == attempts-1 {
						t.Errorf("p99 %v is more than %v, or p50 %v is more than %v", under.p99, most, under.p50, noise)
					}
				}
			})
		}
	}
}

// measureTenant measures the calls about a good tenant's objects beside those of another one.
func measureTenant(t *testing.T, program engines.Program, others func() engines.Call) times {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range attackers {
		group.Go(func() { keepCalling(ctx, program, others) })
	}
	defer group.Wait()
	defer cancel()
	return measureCalls(t, program, tenantCalls("b", "good", false))
}

// keeping is a probe that keeps the names of all parents that its worker has seen.
const keeping = "keep what is seen"

var kept []any

func keep(call engines.Call) engines.Response {
	name, _, _ := unstructured.NestedString(call.Request, "parent", "metadata", "name")
	kept = append(kept, name)
	return engines.Response{Body: kept}
}

// TestTakenOverWorker has a script that has escaped its engine keep what it sees. Scripts of another
// namespace must not come to see it.
func TestTakenOverWorker(t *testing.T) {
	s := newSharedPool(t)
	engine, err := s.engines.ByName("Probe")
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]engines.Program{}
	for _, namespace := range []string{"a", "b"} {
		programs[namespace], err = engine.Compile(t.Context(), engines.Source{
			Hook: "sync", TrustDomain: namespace, Script: &engines.Script{Files: map[string]string{"a.probe": keeping}, Path: "a.probe"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		for namespace, program := range programs {
			answer, err := program.Run(t.Context(), request(fmt.Sprintf("%s-%d", namespace, n)))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range answer.Body.([]any) {
				if !strings.HasPrefix(name.(string), namespace+"-") {
					t.Errorf("a script of namespace %s has seen %s", namespace, name)
				}
			}
		}
	}
}
