package jsonvalue

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretTexts(t *testing.T) {
	password := func(path Path) bool { return len(path) > 0 && path[len(path)-1].Name == "password" }
	secret := map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"},
		"data": map[string]any{"k": "b3Vycw==", "wrong": map[string]any{"pin": int64(1234)}}, "stringData": map[string]any{"s": "text"},
	}
	cases := map[string]struct {
		reason string
		value  any
		want   []string
	}{
		"plain":  {"nothing is secret", map[string]any{"a": "b"}, nil},
		"Secret": {"what it holds, as it is and decoded, and not its name", secret, []string{"1234", "b3Vycw==", "ours", "text"}},
		"within": {"a Secret in a list", []any{map[string]any{"a": secret}}, []string{"1234", "b3Vycw==", "ours", "text"}},
		"field":  {"all that is below a secret place", map[string]any{"password": []any{"a-b", true, nil, 1.5}, "user": "u"}, []string{"1.5", "a-b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := SecretTexts(nil, c.value, password)
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
