package engines

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"deployment", "service", "objectsOf", "hash"}
	cases := map[string]struct{ reason, name, want string }{
		"a letter":   {"one is missing", "deploymnt", "deployment"},
		"case":       {"case does not count", "ObjectsOF", "objectsOf"},
		"short":      {"few letters may differ in a short name", "has", "hash"},
		"nothing":    {"no name is like it", "frobnicate", ""},
		"too unlike": {"half of the letters differ", "settings", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := Nearest(c.name, known); got != c.want {
				t.Errorf("Nearest(%q) = %q, want %q", c.name, got, c.want)
			}
		})
	}
}
