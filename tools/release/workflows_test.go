package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow has what the tests look at of a workflow of GitHub.
type workflow struct {
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Needs       string            `json:"needs"`
		Permissions map[string]string `json:"permissions"`
		Steps       []struct {
			Uses, Run string
		} `json:"steps"`
	} `json:"jobs"`
}

// TestWorkflows checks that workflows may write nothing but what a job says, take actions by version, and run targets of make that exist.
func TestWorkflows(t *testing.T) {
	paths, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	pinned, target := regexp.MustCompile(`^[\w./-]+@v\d+$`), regexp.MustCompile(`\bmake ([a-z-]+)`)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var w workflow
			if err := yaml.Unmarshal(read(t, path), &w); err != nil {
				t.Fatal(err)
			}
			for what, verb := range w.Permissions {
				if verb != "read" {
					t.Errorf("every job may %s %s", verb, what)
				}
			}
			if w.Permissions == nil {
				t.Error("jobs have the default permissions")
			}
			for name, job := range w.Jobs {
				for _, step := range job.Steps {
					if step.Uses != "" && !pinned.MatchString(step.Uses) {
						t.Errorf("%s uses %s", name, step.Uses)
					}
					for _, run := range target.FindAllStringSubmatch(step.Run, -1) {
						if !strings.Contains(string(makefile), "\n"+run[1]+":") {
							t.Errorf("%s runs make %s", name, run[1])
						}
						if len(job.Permissions) > 1 || job.Permissions["contents"] == "write" {
							t.Errorf("%s may write, and runs make, which compiles what others wrote", name)
						}
					}
				}
			}
		})
	}
}
