//go:build linux

package hostile

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/engines"
)

// victim is a hook that is good, and that the objects of a tenant make do what costs workers.
const victim = `export function sync({parent: {metadata: {name}}}) {
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
// attack it. At first each of these may cost workers. Once some are refused, the calls about the others may not have to wait for them.
func TestTenants(t *testing.T) {
	for _, kind := range []string{"loop", "native", "memory", "objects"} {
		for _, fresh := range []bool{false, true} {
			name := kind
			if fresh {
				name += ", new objects"
			}
			t.Run(name, func(t *testing.T) {
				s := newSharedPool(t)
				program := s.program(t, one("JavaScript", "sync.js", victim))
				attacking, stop := start(t, slices.Repeat([]engines.Program{program}, attackers), tenantCalls("a", kind, fresh))
				defer stop()
				for poll := time.NewTicker(patience / 10); attacking.refused.Load() < attackers; <-poll.C {
					if ran := attacking.ran.Load(); ran > 20*attackers {
						t.Fatalf("%d attacks had a worker, and none is refused", ran)
					}
				}
				if attacking.disturbs(t, program, tenantCalls("b", "good", false), 20) {
					t.Error("the innocent calls waited for attacks")
				}
				if why := program.CircuitOpen(); why != nil {
					t.Fatalf("the program rests: %v", why)
				}
			})
		}
	}
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
