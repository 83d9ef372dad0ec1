package sandbox_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// inDomain compiles a probe of a trust domain.
func inDomain(t *testing.T, pool *sandbox.Pool, domain, probe string) engines.Program {
	t.Helper()
	program, err := engineOf(t, pool, "Probe").Compile(t.Context(), engines.Source{
		Hook: "sync", TrustDomain: domain, Script: &engines.Script{Files: map[string]string{"a.probe": probe}, Path: "a.probe"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestWorkersOfDomains has scripts that have taken over their workers remember what they have seen. None
// may have seen what belongs to another domain, unless workers are shared.
func TestWorkersOfDomains(t *testing.T) {
	for _, share := range []bool{false, true} {
		t.Run(fmt.Sprint("shared ", share), func(t *testing.T) {
			registry := prometheus.NewRegistry()
			pool, workers := newPoolOnly(t, sandbox.Config{Workers: 2, ShareWorkers: share, Metrics: sandbox.NewMetrics(registry)})
			domains := []string{"", "a", "b", "a,b", "c"}
			programs := map[string]engines.Program{}
			for _, domain := range domains {
				programs[domain] = inDomain(t, pool, domain, "visit")
			}
			mixed := 0
			for round := range 40 {
				domain := domains[round%len(domains)]
				response, err := programs[domain].Run(t.Context(), request("of "+domain))
				if err != nil {
					t.Fatal(err)
				}
				for _, seen := range response.Body.([]any) {
					if seen != "of "+domain {
						mixed++
					}
				}
			}
			if (mixed > 0) != share {
				t.Errorf("workers have seen %d calls of other domains", mixed)
			}
			if n := len(workers()); n > 3 {
				t.Errorf("there are %d workers for all domains, more than 3", n)
			}
			if replaced := figures(t, registry, "libretto_script_worker_ends_total", "reason")["domain"]; (replaced > 0) == share {
				t.Errorf("%v workers were replaced for other domains", replaced)
			}
		})
	}
}

// TestDomainsTakeTurns has more domains call all the time than there are workers. All must be served, and
// not each call by a new worker.
func TestDomainsTakeTurns(t *testing.T) {
	registry := prometheus.NewRegistry()
	pool := newPool(t, sandbox.Config{Workers: 2, Metrics: sandbox.NewMetrics(registry)})
	const domains, callers, calls = 8, 4, 40
	var group sync.WaitGroup
	for n := range domains {
		domain := fmt.Sprint("domain ", n)
		program := inDomain(t, pool, domain, "hang if true")
		for range callers {
			group.Go(func() {
				for range calls {
					call := request(false)
					call.Owner = domain
					within, done := context.WithTimeout(t.Context(), time.Minute)
					if _, err := program.Run(within, call); err != nil {
						t.Errorf("%s: %v", domain, err)
					}
					done()
				}
			})
		}
	}
	group.Wait()
	replaced := figures(t, registry, "libretto_script_worker_ends_total", "reason")["domain"]
	if t.Logf("%v workers for %d calls", replaced, domains*callers*calls); replaced > domains*callers*calls/4 {
		t.Errorf("%v workers were replaced for %d calls", replaced, domains*callers*calls)
	}
}

// TestHangInOtherDomain has a domain hang in all workers that it can get, one of which was another's. The
// other must still be served.
func TestHangInOtherDomain(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 2})
	hanging, echo := inDomain(t, pool, "a", "hang"), inDomain(t, pool, "b", "visit")
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			call := request(nil)
			call.Owner = "greedy"
			_, _ = hanging.Run(ctx, call) // Ends with ctx.
		})
	}
	for n := range 5 {
		call := request(fmt.Sprint(n))
		call.Owner = "modest"
		within, done := context.WithTimeout(t.Context(), 20*time.Second)
		if _, err := echo.Run(within, call); err != nil {
			t.Errorf("call %d: %v", n, err)
		}
		done()
	}
	cancel()
	group.Wait()
}
