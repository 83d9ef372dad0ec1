package engines

import (
	"errors"
	"strings"
	"testing"
)

func definition(name string, extensions ...string) Definition {
	return Definition{Name: name, Extensions: extensions, New: func(Config) (Engine, error) { return nil, nil }}
}

func TestNewRegistry(t *testing.T) {
	broken := definition("Broken")
	broken.New = func(Config) (Engine, error) { return nil, errBoom }
	cases := map[string]struct {
		reason      string
		definitions []Definition
		want        string
		cause       error
	}{
		"same name":      {"a name must say which engine is meant", []Definition{definition("A"), definition("A")}, `engine "A" is listed twice`, nil},
		"same extension": {"so must an extension", []Definition{definition("A", ".a"), definition("B", ".b", ".a")}, `engines "A" and "B" both claim .a files`, nil},
		"does not start": {"a process without one of its engines is not what was asked for", []Definition{broken}, `engine "Broken": boom`, errBoom},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			_, err := NewRegistry(Config{}, c.definitions...)
			if err == nil || err.Error() != c.want || c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestRegistryConfig(t *testing.T) {
	var got Config
	d := definition("A")
	d.New = func(c Config) (Engine, error) { got = c; return nil, nil }
	if _, err := NewRegistry(Config{UserAgent: "libretto"}, d); err != nil || got.UserAgent != "libretto" {
		t.Errorf("the engine was started with %v, error %v", got, err)
	}
}

func TestRegistryLookup(t *testing.T) {
	r, err := NewRegistry(Config{}, definition("CEL", ".cel", ".cel.yaml"), definition("Plain", ".yaml"), definition("Remote"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ reason, path, want, message string }{
		"extension":        {"the ending decides", "hooks/sync.cel", "CEL", ""},
		"longest":          {"of two that fit the longer says more", "sync.cel.yaml", "CEL", ""},
		"shorter":          {"an ending is a whole one", "sync.yaml", "Plain", ""},
		"unknown":          {"the message lists what would do", "sync.lua", "", "known endings are .cel, .cel.yaml, .yaml"},
		"without any":      {"a folder's dot is none of the file's", "v1.cel/sync", "", "known endings are"},
		"case is not lost": {"paths are case-sensitive", "SYNC.CEL", "", "known endings are"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			got, err := r.NameForPath(c.path)
			if got != c.want || (err != nil) != (c.message != "") {
				t.Errorf("NameForPath(%q) = %q, error %v; want %q", c.path, got, err, c.want)
			}
			if err != nil && (KindOf(err) != Invalid || !strings.Contains(err.Error(), c.message)) {
				t.Errorf("error %q is not of kind Invalid with %q", err, c.message)
			}
		})
	}
	if _, err := r.ByName("Lua"); err == nil || KindOf(err) != Invalid || !strings.Contains(err.Error(), "offers CEL, Plain, Remote") {
		t.Errorf("ByName of an unknown engine: error %v", err)
	}
	if _, err := r.ByName("Remote"); err != nil {
		t.Errorf("ByName of an engine without extensions: %v", err)
	}
}
