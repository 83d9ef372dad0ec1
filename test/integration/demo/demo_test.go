// Package demo runs the demonstrations as their READMEs say, and the measurement of the whole host.
package demo

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// enough for a demo that builds what it is made of first.
const enough = 5 * time.Minute

// TestDemo also leaves the record of metrics that DEMO_METRICS names, for the test of the dashboard.
func TestDemo(t *testing.T) { runProgram(t, "./test/demo", "-metrics="+os.Getenv("DEMO_METRICS")) }

func TestVitess(t *testing.T) { runProgram(t, "./examples/vitess/demo") }

// TestScale checks that a measurement of few parents has all phases, with the writes that are known beforehand.
func TestScale(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scale.json")
	runProgram(t, "./test/scale", "-parents=5", "-children=2", "-idle=1s", "-quiet=1s", "-o="+file)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type measurement struct {
		Phase    string
		HostPeak int64
		Requests map[string]int
	}
	var results struct {
		Subjects []struct {
			Name   string
			Median []measurement
		}
	}
	if err := json.Unmarshal(content, &results); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range results.Subjects {
		var phases []string
		for _, m := range s.Median {
			phases = append(phases, m.Phase)
			if m.HostPeak == 0 {
				t.Errorf("%s, %s: no memory was measured", s.Name, m.Phase)
			}
			// Five parents with two children each.
			if created := m.Requests["create configmaps"]; m.Phase == "create" && created != 10 {
				t.Errorf("%s: %d children were created, want 10", s.Name, created)
			}
		}
		got[s.Name] = strings.Join(phases, " ")
	}
	want := map[string]string{
		"direct":   "base create update touch touch-read restart",
		"libretto": "base create update touch touch-read idle restart",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func runProgram(t *testing.T, program string, flags ...string) {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	tool := os.Getenv("GO")
	if tool == "" {
		tool = "go"
	}
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	command := exec.CommandContext(ctx, tool, append([]string{"run", program}, flags...)...)
	command.Dir = root
	command.WaitDelay = time.Second
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
