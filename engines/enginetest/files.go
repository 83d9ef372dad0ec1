package enginetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
)

// Files returns the sources of hooks that are files of a folder, each named after its hook
// in lower case, such as echo.js.
func Files(folder string) func(testing.TB, Hook) engines.Source {
	return func(t testing.TB, hook Hook) engines.Source {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(folder, strings.ToLower(string(hook))+".*"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s has %d files for the hook %s, where one is needed (error %v)", folder, len(found), hook, err)
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Base(found[0])
		return engines.Source{Hook: hook.Name(), Script: &engines.Script{Files: map[string]string{path: string(text)}, Path: path}}
	}
}
