// Package kinds tests bin/libretto as a process against a real API server: what
// the kinds of definition do for parents beyond children that follow a hook.
// Finalizers, who owns what, related objects, decorators, maps, and which
// definitions a host takes.
package kinds

import (
	"os"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// parentsAre returns the lines of a composite's or a decorator's spec that make Things with the label set: <set> its
// parents, and ConfigMaps their children.
func parentsAre(e *env.Env, kind, set string) string {
	if kind == env.Decorator {
		return e.Targets("things", set) + "\n" + attachments
	}
	return e.Parent("things", set) + "\n" + env.UpdatedChildren
}
