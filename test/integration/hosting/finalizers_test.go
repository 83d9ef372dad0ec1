package hosting

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// waitForSearch waits until the host has searched for finalizers, and returns the pages that it has listed for that.
func waitForSearch(e *env.Env, since cluster.Mark) cluster.Requests {
	e.T.Helper()
	e.Eventually(func() error {
		if !strings.Contains(e.Libretto().Log(), "finalizers of definitions that are gone have been looked for") {
			return errors.New("the host still looks for finalizers")
		}
		return nil
	})
	return e.FinalizerSearches(since)
}

// TestSearchesWhatIsRecorded checks that a host searches all resources for finalizers at its first start, and later only those of which
// objects may have any: a definition that is deleted while no host runs is found there.
func TestSearchesWhatIsRecorded(t *testing.T) {
	e := env.New(t)
	e.Apply(thingCRD(e))
	mark := e.Mark()
	e.Start("--namespace", e.Namespace)
	if first := waitForSearch(e, mark); len(first) < 20 {
		t.Errorf("the first start lists %d pages, want one of each resource:\n%s", len(first), first)
	}
	name := e.DefineReady(env.Composite, "", e.Parent("things", ""), env.UpdatedChildren, env.Hooks(
		"export const sync = () => ({children: []}); export const finalize = () => ({children: [], finalized: false});", "sync", "finalize"))
	applyThing(e, "a", "count: 1\ntext: one")
	hasFinalizers := func(count int) env.Check {
		return func(o *unstructured.Unstructured) error {
			if found := o.GetFinalizers(); len(found) != count {
				return fmt.Errorf("it has the finalizers %q", found)
			}
			return nil
		}
	}
	e.WaitFor(e.Things(), "a", hasFinalizers(1))

	mark = e.Mark()
	e.Restart()
	mustSearchThings(e, waitForSearch(e, mark))
	e.Kill()
	e.Delete(env.CompositeControllers, "", name)
	mark = e.Mark()
	e.Start("--namespace", e.Namespace)
	e.WaitFor(e.Things(), "a", hasFinalizers(0))
	mustSearchThings(e, waitForSearch(e, mark))
}

// mustSearchThings fails the test unless Things were searched, and nothing else but the definitions of what was found.
func mustSearchThings(e *env.Env, pages cluster.Requests) {
	e.T.Helper()
	others := pages.Filter(func(r cluster.Request) bool {
		return r.Resource != "things" && !strings.HasSuffix(r.Resource, "compositecontrollers")
	})
	if len(others) > 0 || len(pages) == 0 {
		e.T.Errorf("a later start searches more than what can have finalizers, or nothing:\n%s", pages)
	}
}
