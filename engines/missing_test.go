package engines

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissingField(t *testing.T) {
	fields := []string{"greeting", "spec", "Pod.v1", "Deployment.apps/v1"}
	for name, want := range map[string]string{
		"gretings":      "did you mean greeting?",
		"Pods.v1":       "did you mean Pod.v1?",
		"Deployment.v1": "there are Deployment.apps/v1, Pod.v1",
		"colour":        "",
	} {
		if got := MissingField(name, fields); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if got := MissingField("Pods.v1", nil); got != "" {
		t.Errorf("without fields: %q", got)
	}
}

// TestFieldNames checks which names are reported.
func TestFieldNames(t *testing.T) {
	object := func(kind string) map[string]any {
		return map[string]any{"kind": kind, "metadata": map[string]any{"labels": map[string]any{"own": "a"}}, "data": map[string]any{"password": "eA=="}}
	}
	secret := object("Secret")
	secret["apiVersion"] = "v1"
	got := FieldNames(map[string]any{
		"parent":  map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"nodePort": int64(1)}}, "odd-name": true}},
		"related": map[string]any{"Secret.v1": map[string]any{"others": secret}, "Deployment.apps/v1": map[string]any{"web": object("Deployment")}},
	})
	want := []string{"Deployment.apps/v1", "Secret.v1", "data", "kind", "labels", "metadata", "nodePort", "parent", "ports", "related", "spec"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMissingRequestField checks that a hook that is written like one of the other kind of definition gets an error with the name that its request has.
func TestMissingRequestField(t *testing.T) {
	composite, decorator := []string{"children", "parent"}, []string{"attachments", "object"}
	for _, c := range []struct {
		name   string
		fields []string
		want   string
	}{
		{"object", composite, "did you mean parent?"}, {"attachments", composite, "did you mean children?"},
		{"parent", decorator, "did you mean object?"}, {"children", decorator, "did you mean attachments?"},
		{"parnet", composite, "did you mean parent?"}, {"children", []string{"object"}, ""}, {"colour", composite, ""},
	} {
		if got := MissingRequestField(c.name, c.fields); got != c.want {
			t.Errorf("%s among %v: got %q, want %q", c.name, c.fields, got, c.want)
		}
	}
}
