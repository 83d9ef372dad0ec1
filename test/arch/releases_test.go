package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReleases checks that the releases of Kubernetes that test/controlplane/build.sh knows are those of the scheduled workflow, and of the
// page that says what was tested.
func TestReleases(t *testing.T) {
	read := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, list, _ := strings.Cut(read("test", "controlplane", "build.sh"), "\nolder='")
	list, _, _ = strings.Cut(list, "'")
	older := strings.Fields(list)
	all := append(slices.Clone(older), strings.TrimPrefix(modules(t, filepath.Join("test", "controlplane"))["k8s.io/kubernetes"], "v"))
	if page := captures(`(?m)^\| (1\.\d+\.\d+) \|`, read("docs", "reference", "kubernetes.md")); !cmp.Equal(all, page) {
		t.Errorf("docs/reference/kubernetes.md has the releases %v, and test/controlplane %v: run make compat for those that differ", page, all)
	}
	for i, release := range older {
		older[i] = release[:strings.LastIndex(release, ".")]
	}
	if matrix := captures(`"(1\.\d+)"`, read(".github", "workflows", "weekly.yml")); !cmp.Equal(older, matrix) {
		t.Errorf(".github/workflows/weekly.yml has the versions %v, and test/controlplane/build.sh %v", matrix, older)
	}
}

// captures returns what the group of a regular expression matches in a text.
func captures(expression, text string) (found []string) {
	for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}
