package parent

import (
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestLogOfWrites checks which lines a pass logs at a verbosity.
func TestLogOfWrites(t *testing.T) {
	const total = `"level"=0 "msg"="children written" "definition"="d" "parent"=" p" "create"=2 "delete"=1`
	child := func(action, name string) string {
		return `"level"=1 "msg"="child written" "definition"="d" "parent"=" p" "action"="` + action + `" "child"="` + name + `"`
	}
	for verbosity, want := range map[int][]string{
		0: {total},
		1: {child("Create", "Pod default/a"), child("Create", "Pod default/b"), child("Delete", "Pod default/c"), total},
	} {
		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: verbosity})
		p := &pass{shared: &shared{config: Config{Definition: "d"}, env: Environment{Log: log}}, key: controller.Key{Name: "p"}}
		for _, change := range []apply.Change{
			{Action: apply.ActionCreate, Key: apply.KeyOf(parenttest.Object("a"))}, {Action: apply.ActionCreate, Key: apply.KeyOf(parenttest.Object("b"))},
			{Action: apply.ActionDelete, Key: apply.KeyOf(parenttest.Object("c"))},
		} {
			p.logChild(change)
		}
		p.logWrites()
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("lines at -v=%d (-want +got):\n%s", verbosity, diff)
		}
	}
	p := &pass{shared: &shared{}}
	p.logWrites() // Neither a line nor a panic for a pass that wrote nothing.
}
