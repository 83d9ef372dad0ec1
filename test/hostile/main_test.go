//go:build linux

package hostile

import (
	"os"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/cel"
	"github.com/libretto-k8s/libretto/engines/javascript"
	"github.com/libretto-k8s/libretto/engines/jsonnet"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
)

func TestMain(m *testing.M) {
	worker.Main(definitions)
	probeUnconfined()
	enterContainer()
	os.Exit(m.Run())
}

func definitions() []engines.Definition {
	return []engines.Definition{javascript.Definition(), jsonnet.Definition(), cel.Definition(), probe()}
}
