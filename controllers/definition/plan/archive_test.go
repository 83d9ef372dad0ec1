package plan

import (
	"testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

func TestArchiveNamespace(t *testing.T) {
	in := func(namespace string) v1alpha1.ScriptSource {
		return v1alpha1.ScriptSource{ConfigMap: &v1alpha1.ScriptConfigMap{Namespace: namespace, Name: "hooks"}}
	}
	directory := v1alpha1.ScriptSource{Directory: &v1alpha1.ScriptDirectory{Path: "."}}
	flux := v1alpha1.ScriptSource{Flux: &v1alpha1.ScriptFlux{Kind: "Bucket", Namespace: "a", Name: "hooks"}}
	robot := &v1alpha1.ServiceAccountReference{Namespace: "team", Name: "robot"}
	cases := map[string]struct {
		reason  string
		sources []v1alpha1.ScriptSource
		account *v1alpha1.ServiceAccountReference
		want    string
	}{
		"None":    {reason: "inline scripts belong to no namespace", want: "own"},
		"One":     {reason: "the archive of a text is in its namespace", sources: []v1alpha1.ScriptSource{in("a")}, want: "a"},
		"Same":    {reason: "so is that of two texts of one namespace", sources: []v1alpha1.ScriptSource{in("a"), in("a")}, want: "a"},
		"Several": {reason: "text of one namespace is not copied into another", sources: []v1alpha1.ScriptSource{in("a"), in("b")}, want: "own"},
		"Account": {reason: "an account has no right in the host's namespace", account: robot, want: "team"},
		"Account of one": {
			reason: "a text stays in its namespace", account: robot, sources: []v1alpha1.ScriptSource{in("a")}, want: "a",
		},
		"Flux":  {reason: "an artifact is in the namespace of its object", sources: []v1alpha1.ScriptSource{in("a"), flux}, want: "a"},
		"Mixed": {reason: "nor is that of a directory", sources: []v1alpha1.ScriptSource{in("a"), directory}, want: "own"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			settings := v1alpha1.DefinitionSettings{ScriptSources: tc.sources, ServiceAccountRef: tc.account}
			if got := ArchiveNamespace(&settings, "own"); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
