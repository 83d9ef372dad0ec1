package standard

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestDefinitions(t *testing.T) {
	registry, err := engines.NewRegistry(engines.Config{UserAgent: "test"}, Definitions()...)
	if err != nil {
		t.Fatalf("the list does not start: %v", err)
	}
	for _, d := range Definitions() {
		if _, err := registry.ByName(d.Name); err != nil || d.Doc == "" {
			t.Errorf("engine %q: error %v, doc %q", d.Name, err, d.Doc)
		}
	}
	got := map[string]string{}
	want := map[string]string{
		"sync.js": "JavaScript", "sync.mjs": "JavaScript", "lib/sync.cjs": "JavaScript", "sync.ts": "JavaScript",
		"sync.jsonnet": "Jsonnet", "lib/k.libsonnet": "Jsonnet",
		"sync.cel": "CEL", "sync.cel.yaml": "CEL",
		"sync.py": "", "sync.yaml": "",
	}
	for path := range want {
		got[path], _ = registry.NameForPath(path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("which engine a path belongs to (-want +got):\n%s", diff)
	}
}
