package scripts_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestSourceOfPrograms checks what the engine is told of where a program comes from.
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
