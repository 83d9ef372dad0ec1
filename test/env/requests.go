package env

import (
	"fmt"
	"strings"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// Requests are libretto's for objects since a mark, without the events that it sent. What it asks for which
// resources and schemas there are is left out: when it does, up to half a minute after a
// CustomResourceDefinition changed, is no matter of what a test does. So is its search for
// finalizers of definitions that are gone, which begins with each start and takes its time.
func (e *Env) Requests(since cluster.Mark) cluster.Requests {
	e.T.Helper()
	all, err := e.Cluster.Requests(e.T.Context(), since, UserAgent)
	if err != nil {
		e.T.Fatal(err)
	}
	return all.Filter(func(r cluster.Request) bool {
		return r.Resource != "" && r.Resource != "events" && !isFinalizerSearch(r)
	})
}

// searches says whether a request is a page of a search for finalizers: caches list in
// pages of that size too, but name a version.
func isFinalizerSearch(r cluster.Request) bool {
	return r.Verb == "list" && strings.Contains(r.URI, "limit=500") && !strings.Contains(r.URI, "resourceVersion")
}

// Mark is the present moment in the audit log.
func (e *Env) Mark() cluster.Mark {
	e.T.Helper()
	mark, err := e.Cluster.Mark(e.T.Context())
	if err != nil {
		e.T.Fatal(err)
	}
	return mark
}

// Passes is how many passes over parents of a CompositeController have succeeded, or have failed.
func (e *Env) Reconciles(definition, outcome string) float64 {
	e.T.Helper()
	metrics, err := e.Libretto().Metrics(e.T.Context())
	if err != nil {
		e.T.Fatal(err)
	}
	return metrics.Sum("libretto_reconcile_total", map[string]string{"controller": "CompositeController-" + definition, "outcome": outcome})
}

// MustPass waits until that many more passes have succeeded than there were.
func (e *Env) WaitForReconciles(definition string, before, more float64) {
	e.T.Helper()
	cluster.Eventually(e.T, Timeout, func() error {
		if now := e.Reconciles(definition, "success"); now < before+more {
			return fmt.Errorf("%v passes, want %v", now, before+more)
		}
		return nil
	})
}

// quietLooks is how many looks at the audit log have to find no writes for Settled to believe it.
const quietLooks = 15

// Settled waits until nothing is written any more.
func (e *Env) WaitForQuiet() {
	e.T.Helper()
	e.WaitForQuietOf(func(cluster.Request) bool { return true })
}

// SettledAmong waits until none of these is written any more, as where other tests' processes are at work.
func (e *Env) WaitForQuietOf(these func(cluster.Request) bool) {
	e.T.Helper()
	mark := e.Mark()
	quiet := 0
	cluster.Eventually(e.T, Timeout, func() error {
		if writes := e.Requests(mark).Writes().Filter(these); len(writes) > 0 {
			mark, quiet = e.Mark(), 0
			return fmt.Errorf("still writing:\n%s", writes)
		}
		if quiet++; quiet < quietLooks {
			return fmt.Errorf("quiet for %d looks", quiet)
		}
		return nil
	})
}
