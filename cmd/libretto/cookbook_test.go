package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// cookbook is the folder of the recipes, as seen from the root of the repository.
const cookbook = "docs/cookbook"

var (
	recipeRow    = regexp.MustCompile(`(?m)^\| \[([a-z-]+)\]\(([a-z-]+)/README\.md\) \|`)
	recipeScript = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
)

// TestCookbook runs what the READMEs of the recipes say, and checks that each recipe is in the index.
func TestCookbook(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	index := readFile(t, cookbook, "README.md")
	tryCommands(t, index)
	var listed []string
	for _, row := range recipeRow.FindAllStringSubmatch(index, -1) {
		if listed = append(listed, row[1]); row[1] != row[2] {
			t.Errorf("%s/README.md: the row %s leads to %s", cookbook, row[1], row[2])
		}
	}
	entries, err := os.ReadDir(cookbook)
	if err != nil {
		t.Fatal(err)
	}
	recipes := 0
	for _, entry := range entries {
		if name := entry.Name(); entry.IsDir() {
			recipes++
			if strings.Count("\n"+strings.Join(listed, "\n")+"\n", "\n"+name+"\n") != 1 {
				t.Errorf("%s/README.md does not have a row for %s once", cookbook, name)
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				testRecipe(t, name)
			})
		}
	}
	if recipes < 2 || recipes != len(listed) {
		t.Errorf("%s/README.md has %d rows for %d recipes", cookbook, len(listed), recipes)
	}
}

// testRecipe checks and tests a recipe as its README says, and that its CustomResourceDefinition is that of its schema.
func testRecipe(t *testing.T, name string) {
	folder := cookbook + "/" + name
	readme := readFile(t, folder, "README.md")
	for _, want := range []string{"libretto test " + folder + "\n", "kubectl apply -k " + folder + "\n"} {
		if !strings.Contains(readme, "\n"+want) {
			t.Errorf("%s/README.md does not have the command %s", folder, want)
		}
	}
	mustRun(t, "check", "--strict", "-f", folder)
	tryCommands(t, readme)
	schemas, err := filepath.Glob(folder + "/*schema.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range schemas {
		crd := strings.TrimSuffix(schema, "schema.yaml") + "crd.yaml"
		if mustRun(t, "crd", schema) != readFile(t, crd) {
			t.Errorf("%[2]s is stale: libretto crd %[1]s -o %[2]s", schema, crd)
		}
	}
}

// tryCommands runs the commands of a README that need no cluster. Of others, the files that they name have to exist.
func tryCommands(t *testing.T, readme string) {
	t.Helper()
	for _, script := range recipeScript.FindAllStringSubmatch(readme, -1) {
		for line := range strings.Lines(script[1]) {
			line, _, _ = strings.Cut(line, " #")
			words := strings.Fields(line)
			if len(words) > 1 && words[0] == "libretto" && slices.Contains([]string{"check", "render", "rbac", "test"}, words[1]) {
				mustRun(t, words[1:]...)
				continue
			}
			for _, word := range words {
				if _, err := os.Stat(word); err != nil && strings.HasPrefix(word, cookbook) {
					t.Errorf("%s: %v", line, err)
				}
			}
		}
	}
}

// mustRun runs a command, which must succeed and warn of nothing, and returns its output.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := program.Run(t, "", args...)
	if code != 0 || strings.Contains(stdout+stderr, "warning: ") {
		t.Errorf("libretto %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
