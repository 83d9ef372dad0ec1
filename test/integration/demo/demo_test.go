// Package demo runs the demonstrations as their READMEs say.
package demo

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// enough for a demo that builds what it is made of first.
const enough = 5 * time.Minute

func TestDemo(t *testing.T) { runProgram(t, "./test/demo") }

func TestVitess(t *testing.T) { runProgram(t, "./test/vitess") }

func runProgram(t *testing.T, program string) {
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
	command := exec.CommandContext(ctx, tool, "run", program)
	command.Dir = root
	command.WaitDelay = time.Second
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
