package scripts_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func (f *libraryEnv) missing() string {
	return fmt.Sprintf("ConfigMap %s/hooks: not found: create it, or correct the name in scriptSources", f.Namespace)
}

// An edit serves soon, which is measured from before it is sent, beside a write that nobody waits for: most edits take no longer than so many.
func TestEdit(t *testing.T) {
	f := newLibraryEnv(env.New(t), unchanged)
	f.create(script(0))
	changes := make(chan struct{}, 100)
	tree := f.open(func() { changes <- struct{}{} })
	<-changes
	sent := 0
	edit := func() time.Duration {
		sent++
		start := time.Now()
		f.edit(script(sent))
		<-changes
		took := time.Since(start)
		if got, err := answer(t.Context(), tree); err != nil || got != int64(sent) {
			t.Fatalf("after edit %d: answer %v, error %v", sent, got, err)
		}
		return took
	}
	var took, writes []time.Duration
	for n := range 20 {
		took = append(took, edit())
		start := time.Now()
		f.ApplyConfigMap("nobodys", "", fmt.Sprint(n))
		writes = append(writes, time.Since(start))
	}
	slices.Sort(took)
	slices.Sort(writes)
	t.Logf("from sending the edit to the new revision: median %s, longest %s; a write alone: median %s", took[10], took[19], writes[10])
	if took[10] > 20*writes[10] {
		t.Errorf("half of the reloads took longer than %s, want %s", took[10], 20*writes[10])
	}
}

func TestBurst(t *testing.T) {
	f := newLibraryEnv(env.New(t), unchanged)
	f.create(script(0))
	tree := f.open(func() {})
	start := time.Now()
	for i := range 200 {
		f.edit(script(i + 1))
	}
	sent := time.Since(start)
	f.waitForAnswer(tree, 200, "")
	t.Logf("200 edits sent in %s cost %d compilations", sent, f.engine.compiled.Load())
}

func TestBadEdit(t *testing.T) {
	f := newLibraryEnv(env.New(t), unchanged)
	f.create(script(1))
	tree := f.open(func() {})
	f.waitForAnswer(tree, 1, "")
	f.edit("export function sync(request) {\n  return );\n}\n")
	f.waitForAnswer(tree, 1, fmt.Sprintf("ConfigMap %s/hooks: sync.js:2:10: Unexpected \")\"", f.Namespace))
	f.edit(script(2))
	f.waitForAnswer(tree, 2, "")
}

// What leaves the files as they are makes no new revision, and nothing is compiled for it.
func TestSameContent(t *testing.T) {
	f := newLibraryEnv(env.New(t), unchanged)
	f.create(script(1))
	tree := f.open(func() {})
	f.waitForAnswer(tree, 1, "")
	before := tree.Current()
	f.label("once")
	f.Delete(env.ConfigMaps, f.Namespace, "hooks")
	f.waitForAnswer(tree, 1, f.missing())
	f.create(script(1))
	f.waitForAnswer(tree, 1, "")
	f.label("twice")
	if tree.Current() != before {
		t.Errorf("revision %s after %s, want the same", tree.Current().ID, before.ID)
	}
	f.edit(script(2))
	f.waitForAnswer(tree, 2, "")
	if diff := cmp.Diff(int64(2), f.engine.compiled.Load()); diff != "" {
		t.Errorf("compilations: -want, +got:\n%s", diff)
	}
}

func TestLateNamespace(t *testing.T) {
	e := env.New(t)
	f := newLibraryEnv(e.InNamespace(e.Namespace+"-late"), unchanged)
	tree := f.open(func() {})
	f.waitForMessage(tree, f.missing())
	f.Apply(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", f.Namespace))
	f.create(script(1))
	f.waitForAnswer(tree, 1, "")
}

// Two trees that name one ConfigMap watch it once, by its name, and the watch ends with the second of them.
func TestOneWatch(t *testing.T) {
	c := cluster.Get(t)
	const agent = "libretto-one-watch"
	f := newLibraryEnv(env.New(t), func(config *rest.Config) { config.UserAgent = agent })
	f.create(script(1))
	expect := func(reason string, want int) {
		t.Helper()
		cluster.Eventually(t, patience, func() error {
			open, err := c.OpenWatches(t.Context(), agent, "", "configmaps")
			if err != nil {
				return err
			}
			if len(open) != want {
				return fmt.Errorf("%s: %d open watches, want %d:\n%s", reason, len(open), want, open)
			}
			return nil
		})
	}
	first, second := f.open(func() {}), f.open(func() {})
	f.waitForAnswer(first, 1, "")
	f.waitForAnswer(second, 1, "")
	expect("two trees name the ConfigMap", 1)
	first.Close()
	f.edit(script(2))
	f.waitForAnswer(second, 2, "")
	expect("one tree is left", 1)
	second.Close()
	expect("no tree is left", 0)
}

// The right to see the one ConfigMap is enough, and may be given later.
func TestNarrowRights(t *testing.T) {
	const user = "narrow"
	f := newLibraryEnv(env.New(t), func(config *rest.Config) { config.Impersonate.UserName = user })
	f.create(script(1))
	tree := f.open(func() {})
	f.waitForMessage(tree, fmt.Sprintf(`ConfigMap %s/hooks: configmaps "hooks" is forbidden: User %q cannot watch resource "configmaps" in API group "" in the namespace %q: `+
		`libretto rbac -f FILES --host prints what the host needs`, f.Namespace, user, f.Namespace))
	f.Apply(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s}
rules: [{apiGroups: [""], resources: [configmaps], resourceNames: [hooks], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]`, user))
	f.waitForAnswer(tree, 1, "")
}
