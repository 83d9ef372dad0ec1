package env

import (
	"fmt"
	"strings"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// Requests returns libretto's requests for objects since a mark, without the events that it sent. Discovery and schemas
// are left out: libretto asks for them up to half a minute after a CustomResourceDefinition changed, whatever a test
// does. Left out too is its search for finalizers of deleted definitions, which begins with each start and takes its time.
func (e *Env) Requests(since cluster.Mark) cluster.Requests {
	e.T.Helper()
	all, err := e.Cluster.Requests(e.T.Context(), since, UserAgent)
	e.NoError(err)
	return all.Filter(func(r cluster.Request) bool {
		return r.Resource != "" && r.Resource != "events" && !isFinalizerSearch(r) && !e.isFinalizerRecord(r)
	})
}

// isFinalizerSearch reports whether a request is a page of a search for finalizers: caches list in
// pages of that size too, but name a version.
func isFinalizerSearch(r cluster.Request) bool {
	return r.Verb == "list" && strings.Contains(r.URI, "limit=500") && !strings.Contains(r.URI, "resourceVersion")
}

// isFinalizerRecord reports whether a request is about the host's record of finalizers, which a search ends with at any time. The audit log
// may not name what is created: then it is the one ConfigMap in the namespace that hosts have in tests, unless the test has its own there.
func (e *Env) isFinalizerRecord(r cluster.Request) bool {
	created := r.Verb == "create" && r.Namespace == hostNamespace && e.Namespace != hostNamespace
	return r.Resource == "configmaps" && (created || strings.HasPrefix(r.Name, "libretto-finalizers"))
}

// hostNamespace is the namespace of hosts in tests, which run outside of the cluster.
const hostNamespace = "default"

// FinalizerSearches returns the pages of searches for finalizers since a mark.
func (e *Env) FinalizerSearches(since cluster.Mark) cluster.Requests {
	e.T.Helper()
	all, err := e.Cluster.Requests(e.T.Context(), since, UserAgent)
	e.NoError(err)
	return all.Filter(isFinalizerSearch)
}

// Mark returns the present moment in the audit log.
func (e *Env) Mark() cluster.Mark {
	e.T.Helper()
	mark, err := e.Cluster.Mark(e.T.Context())
	e.NoError(err)
	return mark
}

// NoRequests fails the test if there are requests, and says what they show.
func (e *Env) NoRequests(requests cluster.Requests, shows string) {
	e.T.Helper()
	if len(requests) > 0 {
		e.T.Errorf("%s:\n%s", shows, requests)
	}
}

// OpenWatches returns libretto's open watches on a resource.
func (e *Env) OpenWatches(group, resource string) cluster.Requests {
	e.T.Helper()
	open, err := e.Cluster.OpenWatches(e.T.Context(), UserAgent, group, resource)
	e.NoError(err)
	return open
}

// WaitForWatches waits until libretto has so many watches on a resource open.
func (e *Env) WaitForWatches(group, resource string, want int) {
	e.T.Helper()
	e.Eventually(func() error {
		if open := e.OpenWatches(group, resource); len(open) != want {
			return fmt.Errorf("%d watches on %s are open, want %d:\n%s", len(open), resource, want, open)
		}
		return nil
	})
}

// quietPolls is the number of polls of the audit log without a write after which WaitForQuiet returns.
const quietPolls = 15

// WaitForQuiet waits until nothing is written any more.
func (e *Env) WaitForQuiet() {
	e.T.Helper()
	e.WaitForQuietOf(func(cluster.Request) bool { return true })
}

// WaitForQuietOf waits until no such request writes any more. Other tests' processes may write meanwhile.
func (e *Env) WaitForQuietOf(which func(cluster.Request) bool) {
	e.T.Helper()
	mark := e.Mark()
	quiet := 0
	cluster.EventuallySteady(e.T, Timeout, func() error {
		// Leases are renewed for ever.
		writes := e.Requests(mark).Writes().Filter(func(r cluster.Request) bool { return which(r) && r.Resource != "leases" })
		if len(writes) > 0 {
			mark, quiet = e.Mark(), 0
			return fmt.Errorf("still writing:\n%s", writes)
		}
		if quiet++; quiet < quietPolls {
			return fmt.Errorf("quiet for %d polls", quiet)
		}
		return nil
	})
}
