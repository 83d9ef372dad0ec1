//go:build unix

package sandbox_test

import (
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// suites are the suite's hooks, as the tests of the engines define them.
var suites = map[string]enginetest.Suite{
	"JavaScript": {
		Source:    enginetest.Files("../javascript/testdata"),
		FailsAt:   engines.Location{File: "fail.js", Line: 3, Column: 9},
		InvalidAt: engines.Location{File: "invalid.js", Line: 2, Column: 14},
	},
	"Jsonnet": {
		Source:    enginetest.Files("../jsonnet/testdata"),
		FailsAt:   engines.Location{File: "fail.jsonnet", Line: 3, Column: 3},
		InvalidAt: engines.Location{File: "invalid.jsonnet", Line: 2, Column: 6},
		Exempt:    map[string]string{"time dependent": "Jsonnet has no clock"},
	},
	"CEL": {
		Source:    enginetest.Files("../cel/testdata"),
		FailsAt:   engines.Location{File: "fail.cel", Line: 3, Column: 35},
		InvalidAt: engines.Location{File: "invalid.cel", Line: 2, Column: 21},
		Exempt:    map[string]string{"time dependent": "CEL has no clock"},
	},
}

// TestConformance runs the suite on every engine for scripts in one pool, as the binary does.
func TestConformance(t *testing.T) {
	conform(t, func(s enginetest.Suite) enginetest.Suite { return s })
}

// TestConformanceWithCoverage checks that counting coverage changes nothing.
func TestConformanceWithCoverage(t *testing.T) { conform(t, enginetest.Covered) }

func conform(t *testing.T, change func(enginetest.Suite) enginetest.Suite) {
	t.Helper()
	for _, d := range newPool(t, sandbox.Config{}).Definitions(standard.Scripts()) {
		t.Run(d.Name, func(t *testing.T) {
			suite, known := suites[d.Name]
			if !known {
				t.Fatal("nothing says how the suite's hooks read in this language")
			}
			suite.Definition = d
			enginetest.Run(t, change(suite))
		})
	}
}

// TestWarnings checks that a worker sends the warnings of a program to the host.
func TestWarnings(t *testing.T) {
	for _, d := range newPool(t, sandbox.Config{}).Definitions(standard.Scripts()) {
		if d.Name != "Jsonnet" {
			continue
		}
		caller := enginetest.Caller{Definition: d, Path: "sync.jsonnet"}
		program, err := caller.Compile(t, caller.Script("local k = import 'k.libsonnet'; function(request) 1"))
		if err != nil {
			t.Fatal(err)
		}
		const want = `sync.jsonnet:1:11: can't import "k.libsonnet": there is no file "k.libsonnet": there are sync.jsonnet`
		if got := program.Warnings(); len(got) != 1 || got[0].Error() != want {
			t.Errorf("warnings %v, want %s", got, want)
		}
	}
}
