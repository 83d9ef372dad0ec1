package world

import (
	"fmt"
	"strings"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// Requests are libretto's for objects since a mark, without the events that it sent. What it asks for which
// resources and schemas there are is left out: when it does, up to half a minute after a
// CustomResourceDefinition changed, is no matter of what a test does. So is its search for
// finalizers of definitions that are gone, which begins with each start and takes its time.
func (w *World) Requests(since cluster.Mark) cluster.Requests {
	w.T.Helper()
	all, err := w.Cluster.Requests(w.T.Context(), since, Agent)
	if err != nil {
		w.T.Fatal(err)
	}
	return all.Filter(func(r cluster.Request) bool { return r.Resource != "" && r.Resource != "events" && !searches(r) })
}

// searches says whether a request is a page of a search for finalizers: caches list in
// pages of that size too, but name a version.
func searches(r cluster.Request) bool {
	return r.Verb == "list" && strings.Contains(r.URI, "limit=500") && !strings.Contains(r.URI, "resourceVersion")
}

// Mark is the present moment in the audit log.
func (w *World) Mark() cluster.Mark {
	w.T.Helper()
	mark, err := w.Cluster.Mark(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	return mark
}

// Passes is how many passes over parents of a CompositeController have succeeded, or have failed.
func (w *World) Passes(definition, outcome string) float64 {
	w.T.Helper()
	metrics, err := w.Libretto().Metrics(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	return metrics.Sum("libretto_reconcile_total", map[string]string{"controller": "CompositeController-" + definition, "outcome": outcome})
}

// MustPass waits until that many more passes have succeeded than there were.
func (w *World) MustPass(definition string, before, more float64) {
	w.T.Helper()
	cluster.Eventually(w.T, Soon, func() error {
		if now := w.Passes(definition, "success"); now < before+more {
			return fmt.Errorf("%v passes, want %v", now, before+more)
		}
		return nil
	})
}

// quietLooks is how many looks at the audit log have to find no writes for Settled to believe it.
const quietLooks = 15

// Settled waits until nothing is written any more.
func (w *World) Settled() {
	w.T.Helper()
	w.SettledAmong(func(cluster.Request) bool { return true })
}

// SettledAmong waits until none of these is written any more, as where other tests' processes are at work.
func (w *World) SettledAmong(these func(cluster.Request) bool) {
	w.T.Helper()
	mark := w.Mark()
	quiet := 0
	cluster.Eventually(w.T, Soon, func() error {
		if writes := w.Requests(mark).Writes().Filter(these); len(writes) > 0 {
			mark, quiet = w.Mark(), 0
			return fmt.Errorf("still writing:\n%s", writes)
		}
		if quiet++; quiet < quietLooks {
			return fmt.Errorf("quiet for %d looks", quiet)
		}
		return nil
	})
}
