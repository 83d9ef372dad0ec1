package mutation

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// vitessSample is how many mutants of the Vitess example are run, as its tests take seconds. LIBRETTO_VITESS_MUTANTS is another number.
const vitessSample = 6

// TestVitessMutants checks that the tests of the Vitess example find nine of ten faults in its hooks and libraries.
func TestVitessMutants(t *testing.T) {
	mutants := vitessMutants(t)
	n := vitessSample
	if text := os.Getenv("LIBRETTO_VITESS_MUTANTS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("LIBRETTO_VITESS_MUTANTS: %v", err)
		}
	}
	if os.Getenv(all) != "" {
		n = len(mutants)
	}
	n = min(n, len(mutants))
	var chosen []*mutated
	for i := range n {
		chosen = append(chosen, mutants[(2*i+1)*len(mutants)/(2*n)])
	}
	runAll(t, chosen)
	found, loaded := count(t, chosen)
	// A small sample may have one that survives.
	if missed := loaded - found; missed > max(1, loaded/10) || loaded == 0 {
		t.Errorf("the tests of the example find %d of %d faults, want nine of ten", found, loaded)
	}
}

// vitessMutants returns the mutants of all its scripts. Those of a level are tested by the cases of the level and of the whole, those
// of a library by all.
func vitessMutants(t *testing.T) []*mutated {
	t.Helper()
	var mutants []*mutated
	for _, pattern := range []string{"*.jsonnet", "lib/*.libsonnet"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "examples", "vitess", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests := []string{"keyspace_test.yaml", "cell_test.yaml", "shard_test.yaml", "cluster_test.yaml"}
			if level, found := strings.CutSuffix(filepath.Base(file), ".jsonnet"); found {
				tests = []string{level + "_test.yaml"}
			}
			name, err := filepath.Rel(filepath.Join("..", "..", "examples"), file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range OfJsonnet(string(text)) {
				mutants = append(mutants, &mutated{Mutant: m, file: filepath.ToSlash(name), tests: tests})
			}
		}
	}
	return mutants
}

func TestOfJsonnet(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		line   string
		want   []string
	}{
		"Import":    {"what only names a file has no faults", "local a = import 'b.libsonnet';", nil},
		"Equality":  {"an operator is turned", "a == b", []string{"a != b"}},
		"Choice":    {"a condition is turned", "if a then b else c", []string{"if !(a) then b else c"}},
		"Filter":    {"a filter is forgotten", "[a for a in b if c(a)]", []string{"[a for a in b]"}},
		"OwnLine":   {"also on a line of its own", "    if c(a)", []string{"    "}},
		"Merge":     {"a merge is an assignment", "a { b+: c }", []string{"a { b: c }", "a {}"}},
		"Extremes":  {"a maximum is a minimum", "std.max(a, b)", []string{"std.min(a, b)"}},
		"Text":      {"a text is another one", "a + 'b'", []string{"a + 'bx'"}},
		"Numbers":   {"a number is off by one, and a sum a difference", "a + 1", []string{"a - 1", "a + 2"}},
		"Statement": {"a line that is an entry is dropped", "  status: a,", []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, m := range OfJsonnet(c.line + "\nz") {
				got = append(got, strings.TrimSuffix(m.Text, "\nz"))
			}
			if strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("%s: OfJsonnet(%q): got %q, want %q", c.reason, c.line, got, c.want)
			}
		})
	}
}
