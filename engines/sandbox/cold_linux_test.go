package sandbox_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// cold is a start of a host: definitions, each in a trust domain of its own, load their hooks one after another, all definitions at once.
type cold struct {
	domains int
	// pause is what the host computes from one load of a definition to the next one.
	pause time.Duration
	// calls is how many calls each definition then makes, one each callPause.
	calls     int
	callPause time.Duration
}

// coldHooks are the hooks of a definition.
var coldHooks = []string{"customize", "finalize", "sync"}

// start makes the start, and returns how many workers ended for another domain.
func (c cold) start(tb testing.TB, config sandbox.Config) float64 {
	tb.Helper()
	registry := prometheus.NewRegistry()
	config.Metrics = sandbox.NewMetrics(registry)
	pool := sandbox.New(config)
	defer pool.Close()
	engine := engineOf(tb, pool, "JavaScript")
	var group sync.WaitGroup
	for n := range c.domains {
		group.Go(func() {
			if err := c.definition(tb.Context(), engine, fmt.Sprint("domain ", n)); err != nil {
				tb.Errorf("domain %d: %v", n, err)
			}
		})
	}
	group.Wait()
	return figures(tb, registry, "libretto_script_worker_ends_total", "reason")["domain"]
}

func (c cold) definition(ctx context.Context, engine engines.Engine, domain string) (err error) {
	source := script(`export const customize = ({value}) => value, finalize = customize, sync = customize // ` + domain)
	source.Owner, source.TrustDomain = domain, domain
	var program engines.Program
	for i, hook := range coldHooks {
		if source.Hook, source.More = hook, i < len(coldHooks)-1; i > 0 {
			compute(c.pause)
		}
		if program, err = c.load(ctx, engine, source); err != nil {
			return err
		}
	}
	if c.calls == 0 {
		return nil
	}
	due := time.NewTicker(c.callPause)
	defer due.Stop()
	for range c.calls {
		<-due.C
		call := request(domain)
		call.Owner = domain
		if _, err := program.Run(ctx, call); err != nil && engines.KindOf(err) != engines.Timeout {
			return err
		}
	}
	return nil
}

// compute takes a processor for so long.
func compute(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

// load loads a hook within the time that a host has for it, again and again if it must.
func (c cold) load(ctx context.Context, engine engines.Engine, source engines.Source) (engines.Program, error) {
	for {
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		program, err := engine.Compile(within, source)
		if cancel(); engines.KindOf(err) != engines.Timeout {
			return program, err
		}
	}
}

// TestLoadsOfOneDomainShareAWorker has many more domains than workers, and a host that is slower between two loads of a definition than a
// worker is kept for calls. Each domain must cost one start of a worker all the same.
func TestLoadsOfOneDomainShareAWorker(t *testing.T) {
	c := cold{domains: 12, pause: 8 * time.Millisecond} // Four times what a worker is kept at least for a call that may come.
	if replaced := c.start(t, sandbox.Config{Workers: 2}); replaced > float64(c.domains) {
		t.Errorf("%v workers were replaced for the loads of %d domains, more than one for each", replaced, c.domains)
	}
}

// BenchmarkCold has a host start with 120 definitions of three hooks in 120 trust domains, each of which makes three calls then.
func BenchmarkCold(b *testing.B) {
	for _, share := range []bool{true, false} {
		b.Run(fmt.Sprintf("shared=%t", share), func(b *testing.B) {
			c := cold{domains: 120, calls: 3, callPause: 20 * time.Millisecond}
			replaced, before := 0.0, processorTime(b)
			for b.Loop() {
				replaced += c.start(b, sandbox.Config{Workers: 2, ShareWorkers: share})
			}
			b.ReportMetric((processorTime(b)-before).Seconds()/float64(b.N), "CPU-s/op")
			b.ReportMetric(replaced/float64(b.N), "replaced/op")
		})
	}
}

// processorTime returns what this process and its children that have ended have used.
func processorTime(tb testing.TB) (all time.Duration) {
	tb.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			tb.Fatal(err)
		}
		all += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return all
}
