package manifest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestBoundary checks which paths a file may name: by where a repository is, by the working directory, and with links followed.
func TestBoundary(t *testing.T) {
	root := unpack(t, "-- a/.git/config --\n-- a/t/x_test.yaml --\n-- a/other/b.yaml --\n-- c/t/x_test.yaml --\n-- c/b.yaml --\n-- secret --\n")
	for link, to := range map[string]string{"a/t/out": "../../secret", "a/t/up": "../..", "a/t/in": "../other", "a/t/git": "../.git", "linked": "a/t"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		working, file, path string
		may                 bool
	}{
		"beside":                            {".", "a/t/x_test.yaml", "a/t/y.yaml", true},
		"in another folder of a repository": {".", "a/t/x_test.yaml", "a/t/../other/b.yaml", true},
		"from that folder":                  {"a/t", "x_test.yaml", "../other/b.yaml", true},
		"by a link to the test's folder":    {".", "linked/x_test.yaml", "linked/in/b.yaml", true},
		"by a link in the repository":       {".", "a/t/x_test.yaml", "a/t/in/b.yaml", true},
		"the repository":                    {".", "a/t/x_test.yaml", "a", true},
		"above the repository":              {".", "a/t/x_test.yaml", "a/../c/b.yaml", false},
		"by a link out of it":               {".", "a/t/x_test.yaml", "a/t/out", false},
		"below a link out of it":            {".", "a/t/x_test.yaml", "a/t/up/c/b.yaml", false},
		"nothing below a link out of it":    {".", "a/t/x_test.yaml", "a/t/up/none/b.yaml", false},
		"an absolute path":                  {".", "a/t/x_test.yaml", "/etc/hostname", false},
		"what git keeps":                    {".", "a/t/x_test.yaml", "a/.git/config", false},
		"what git keeps, by a link":         {".", "a/t/x_test.yaml", "a/t/git/config", false},
		"no repository, in the folder that the command is started in": {".", "c/t/x_test.yaml", "secret", true},
		"no repository, above that folder":                            {"c", "t/x_test.yaml", "../secret", false},
		"no repository, started in the test's folder":                 {"c/t", "x_test.yaml", "../b.yaml", false},
		"no repository, started elsewhere":                            {"a", "../c/t/x_test.yaml", "../c/b.yaml", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(filepath.Join(root, c.working))
			boundary, err := BoundaryOf(c.file)
			if err != nil {
				t.Fatal(err)
			}
			if err := boundary.Check(c.path); (err == nil) != c.may {
				t.Errorf("%s: %v", c.path, err)
			}
		})
	}
}

// TestLoadWithin checks that neither links nor bases lead out of what is read.
func TestLoadWithin(t *testing.T) {
	for name, c := range map[string]struct{ given, link, to string }{
		"a file":        {"a/b.yaml", "a/b.yaml", "../b.yaml"},
		"a file in it":  {"a", "a/b.yaml", "../b.yaml"},
		"a folder":      {"a/below", "a/below", "../out"},
		"a base":        {"a/base", "a/unused", "."},
		"a linked base": {"a/linked", "a/linked/out", "../../out"},
	} {
		t.Run(name, func(t *testing.T) {
			root := unpack(t, "-- a/x_test.yaml --\n-- a/.git/HEAD --\n-- a/base/kustomization.yaml --\nresources: [../../out]\n"+
				"-- a/linked/kustomization.yaml --\nresources: [out]\n-- out/kustomization.yaml --\nconfigMapGenerator: [{name: a}]\n"+
				"-- b.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
			t.Chdir(root)
			if err := os.Symlink(c.to, c.link); err != nil {
				t.Fatal(err)
			}
			boundary, err := BoundaryOf("a/x_test.yaml")
			if err != nil {
				t.Fatal(err)
			}
			for within, want := range map[Boundary]bool{{}: true, boundary: false} {
				set, err := Load(t.Context(), Options{Filenames: []string{c.given}, Within: within})
				if got := err == nil && len(set.Objects) > 0; got != want {
					t.Errorf("within %v: read is %t, want %t: %v, %v", within, got, want, err, set)
				}
			}
		})
	}
}
