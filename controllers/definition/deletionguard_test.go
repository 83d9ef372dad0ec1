package definition

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestSpecHash shows which edits of a spec are edits to the guard.
func TestSpecHash(t *testing.T) {
	const spec = `{hooks: {sync: {script: {inline: a}}, finalize: {webhook: {url: u}}}, scriptSources: [{configMap: {name: a}}], resyncPeriodSeconds: 5,
childResources: [{resource: pods, updateStrategy: {method: RollingRecreate, paused: true}}], attachments: [{resource: services}]}`
	hashOf := func(text string) string {
		t.Helper()
		var fields map[string]any
		if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatal(err)
		}
		hash, err := (&Plan{object: &unstructured.Unstructured{Object: map[string]any{"spec": fields}}}).specHash()
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	for name, c := range map[string]struct {
		old, now string
		same     bool
	}{
		"a script":           {"inline: a", "inline: b", true},
		"a source":           {"name: a", "name: b", true},
		"the pace":           {"paused: true", "paused: false, maxUnavailable: 2", true},
		"a method":           {"RollingRecreate", "Recreate", false},
		"a URL":              {"url: u", "url: v", false},
		"a resource":         {"services", "secrets", false},
		"what hooks may use": {"Seconds: 5", "Seconds: 6", false},
	} {
		edited := replaceIn(t, spec, c.old, c.now)
		if same := hashOf(spec) == hashOf(edited); same != c.same {
			t.Errorf("%s: the hash is the same: %v, want %v", name, same, c.same)
		}
	}
}

func replaceIn(t *testing.T, text, old, now string) string {
	t.Helper()
	before, after, found := strings.Cut(text, old)
	if !found {
		t.Fatalf("no %q", old)
	}
	return before + now + after
}
