// Package demo runs the demo as the README says.
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

func TestDemo(t *testing.T) {
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
	command := exec.CommandContext(ctx, tool, "run", "./test/demo")
	command.Dir = root
	command.WaitDelay = time.Second
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
