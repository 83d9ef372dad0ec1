package scripts_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestSourceOfPrograms checks which origin of a program is passed to the engine.
func TestSourceOfPrograms(t *testing.T) {
	configMap := func(namespace, name string) scripts.Source {
		return scripts.Source{ConfigMap: &scripts.ConfigMap{Namespace: namespace, Name: name, Prefix: namespace + name}}
	}
	inline := map[string]scripts.Hook{"sync": {Inline: "1", Engine: "Fake"}}
	cases := map[string]struct {
		reason  string
		sources []scripts.Source
		want    string
	}{
		"Inline": {"who writes definitions is the host", nil, ""},
		"One":    {"a namespace is those who may write in it", []scripts.Source{configMap("b", "one")}, "b"},
		"Twice":  {"however much they write", []scripts.Source{configMap("b", "one"), configMap("b", "two")}, "b"},
		"Two":    {"two are another domain than each, in any order", []scripts.Source{configMap("b", "one"), configMap("a", "two")}, "a,b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEnv(t)
				for _, source := range tc.sources {
					putIn(source.ConfigMap.Namespace, source.ConfigMap.Name, map[string]string{"lib": "x"})(w)
				}
				tree := w.open(scripts.Spec{Definition: "CompositeController c", Sources: tc.sources, Hooks: inline})
				pass(w)
				got := tree.Current().Programs["sync"].(fakeProgram).source
				want := engines.Source{Hook: "sync", Owner: "CompositeController c", TrustDomain: tc.want, Script: got.Script}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: source (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// sourcedFrom returns kept with a ConfigMap of namespace a and one of another namespace, which holds the script.
func sourcedFrom(definition, namespace string) scripts.Spec {
	spec := kept("", "lib")
	spec.Definition = definition
	spec.Sources = append(spec.Sources, scripts.Source{ConfigMap: &scripts.ConfigMap{Namespace: namespace, Name: "main"}})
	return spec
}

// A restored revision is not the work of those who write the present sources: it shares no worker with them,
// nor with anybody else.
func TestRestoredTrustDomain(t *testing.T) {
	const one, two = "CompositeController one", "CompositeController two"
	script := map[string]string{"sync.fake": "1"}
	domain := func(tree *scripts.Tree) string {
		return tree.Current().Programs["sync"].(fakeProgram).source.TrustDomain
	}
	cases := map[string]struct {
		reason  string
		present string // the namespace of the sources after the restart
	}{
		"Same":  {"a ControllerRevision does not say who wrote it", "b"},
		"Other": {"the definition may have been edited while no host ran", "c"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEnv(t)
				w.play(sourcedFrom(one, "b"), put("lib", map[string]string{"lib": "x"}), putIn("b", "main", script), pass)
				served := w.tree.Current()
				if got := domain(w.tree); got != "a,b" {
					t.Fatalf("before: trust domain %q", got)
				}
				putIn("b", "main", map[string]string{"sync.fake": "bad"})(w)
				w.restart(sourcedFrom(one, tc.present))
				pass(w)
				if got, want := domain(w.tree), "restored:"+one+":"+string(served.ID); got != want || w.tree.Current().ID != served.ID {
					t.Errorf("%s: restored: trust domain %q, want %q", tc.reason, got, want)
				}
				restored := w.tree.Current()
				second := sourcedFrom(two, tc.present)
				second.Serving = served.ID
				other := w.open(second)
				pass(w)
				if got, want := domain(other), "restored:"+two+":"+string(served.ID); got != want {
					t.Errorf("%s: another definition: trust domain %q, want %q", tc.reason, got, want)
				}
				putIn(tc.present, "main", script)(w)
				pass(w)
				if got, want := domain(w.tree), "a,"+tc.present; got != want || w.tree.Current().ID != restored.ID || w.tree.State().RestoredFrom != "" {
					t.Errorf("%s: the sources load: trust domain %q, want %q", tc.reason, got, want)
				}
				if got, want := domain(other), "a,"+tc.present; got != want {
					t.Errorf("%s: the sources of another definition load: trust domain %q, want %q", tc.reason, got, want)
				}
			})
		})
	}
}
