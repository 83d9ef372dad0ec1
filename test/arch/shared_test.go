package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

// required matches a module and its version in a go.mod.
var required = regexp.MustCompile(`(?m)^(?:require)?\s+(\S+\.\S+) (v\S+)`)

// modules returns the versions that the go.mod of a folder requires.
func modules(t *testing.T, folder string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, m := range required.FindAllStringSubmatch(string(text), -1) {
		versions[m[1]] = m[2]
	}
	return versions
}

// TestSharedModules compares the versions of what libretto and the control plane for tests have in common: with others it is compiled twice.
func TestSharedModules(t *testing.T) {
	own, shared := modules(t, "."), 0
	for module, version := range modules(t, filepath.Join("test", "controlplane")) {
		if own[module] == "" {
			continue
		}
		if shared++; own[module] != version {
			t.Errorf("test/controlplane/go.mod has %s %s, and go.mod %s: run go -C test/controlplane get %s@%s", module, version, own[module], module, own[module])
		}
	}
	if shared < 50 {
		t.Fatalf("%d modules in common: nothing is compared", shared)
	}
}

// TestNestedModules checks that tests with a go.mod of their own, which link libretto, require no older version of a module: they would not
// start.
func TestNestedModules(t *testing.T) {
	own := modules(t, ".")
	for folder, least := range map[string]int{"chart": 50, "browser": 3} {
		shared := 0
		for module, has := range modules(t, filepath.Join("test", folder)) {
			if own[module] == "" {
				continue
			}
			if shared++; version.MustParseSemantic(has).LessThan(version.MustParseSemantic(own[module])) {
				t.Errorf("test/%s/go.mod has %s %s, and go.mod %s: run go -C test/%s mod tidy", folder, module, has, own[module], folder)
			}
		}
		if shared < least {
			t.Fatalf("test/%s has %d modules in common: nothing is compared", folder, shared)
		}
	}
}

// TestPlainPackages checks that nothing that libretto links is compiled for the control plane with flags of its own.
func TestPlainPackages(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(root, "test", "controlplane", "build.sh"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(script), "\nplain='")
	list, _, _ = strings.Cut(list, "'")
	command := exec.Command("go", "list", "-deps", "./cmd/...", "./test/...")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	for prefix := range strings.FieldsSeq(list) {
		for _, path := range linked {
			if path == prefix || strings.HasPrefix(path, prefix+"/") {
				t.Errorf("build.sh compiles %s in a way of its own, and libretto links %s: it is compiled twice", prefix, path)
			}
		}
	}
	if len(strings.Fields(list)) == 0 || len(linked) < 100 {
		t.Fatalf("prefixes %q, %d packages: nothing is compared", list, len(linked))
	}
}
