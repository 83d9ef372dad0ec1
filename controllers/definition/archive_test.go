package definition

import (
	"testing"

	"github.com/libretto-k8s/libretto/scripts"
)

func TestArchiveNamespace(t *testing.T) {
	in := func(namespace string) scripts.Source {
		return scripts.Source{ConfigMap: &scripts.ConfigMap{Namespace: namespace, Name: "hooks"}}
	}
	directory := scripts.Source{Directory: &scripts.Directory{Path: "."}}
	cases := map[string]struct {
		reason  string
		sources []scripts.Source
		want    string
	}{
		"None":    {reason: "inline scripts belong to no namespace", want: "own"},
		"One":     {reason: "the archive of a text is in its namespace", sources: []scripts.Source{in("a")}, want: "a"},
		"Same":    {reason: "so is that of two texts of one namespace", sources: []scripts.Source{in("a"), in("a")}, want: "a"},
		"Several": {reason: "text of one namespace is not copied into another", sources: []scripts.Source{in("a"), in("b")}, want: "own"},
		"Mixed":   {reason: "nor is that of a directory", sources: []scripts.Source{in("a"), directory}, want: "own"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := archiveNamespace(tc.sources, "own"); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
