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
	cases := map[string]struct {
		reason  string
		sources []v1alpha1.ScriptSource
		want    string
	}{
		"None":    {reason: "inline scripts belong to no namespace", want: "own"},
		"One":     {reason: "the archive of a text is in its namespace", sources: []v1alpha1.ScriptSource{in("a")}, want: "a"},
		"Same":    {reason: "so is that of two texts of one namespace", sources: []v1alpha1.ScriptSource{in("a"), in("a")}, want: "a"},
		"Several": {reason: "text of one namespace is not copied into another", sources: []v1alpha1.ScriptSource{in("a"), in("b")}, want: "own"},
		"Mixed":   {reason: "nor is that of a directory", sources: []v1alpha1.ScriptSource{in("a"), directory}, want: "own"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ArchiveNamespace(tc.sources, "own"); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
