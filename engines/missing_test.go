package engines

import "testing"

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
