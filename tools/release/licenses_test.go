package main

import (
	"slices"
	"strings"
	"testing"
)

// TestLicenses reads the licenses of the real programs: of each module that they have, and each text once.
func TestLicenses(t *testing.T) {
	all, err := licensesOf(t.Context(), "../..", own)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(all), "\n")
	for _, name := range []string{"Go", "github.com/google/go-jsonnet", "k8s.io/client-go", "sigs.k8s.io/yaml"} {
		if !slices.Contains(lines, name) {
			t.Errorf("%s is not named", name)
		}
	}
	if n := strings.Count(string(all), "Copyright 2009 The Go Authors"); n == 0 || n > 3 {
		t.Errorf("the license of Go is there %d times", n)
	}
	if _, err := licenseIn(t.TempDir()); err == nil {
		t.Error("a module without a license is none to release")
	}
}
