//go:build unix

package sandbox_test

import (
	"context"
	"fmt"
	"os"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

const hostArgument = "__host"

// hostOfTest runs a host that a test can kill: one worker hangs, one is idle.
func hostOfTest() {
	if len(os.Args) < 2 || os.Args[1] != hostArgument {
		return
	}
	pool := sandbox.New(sandbox.Config{Workers: 1})
	for _, d := range pool.Definitions(definitions()) {
		engine, _ := d.New(engines.Config{})
		program, err := engine.Compile(context.Background(), script(`export function sync() { Array.prototype.indexOf.call({length: 2**53-1}, 1) }`))
		if err == nil {
			fmt.Println("ready")
			_, _ = program.Run(context.Background(), request(nil))
		}
	}
	os.Exit(1)
}
