package jsonnet

import (
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

// source returns the suite's hooks.
var source = enginetest.Files("testdata")

var suite = enginetest.Suite{
	Definition: Definition(),
	Source:     source,
	FailsAt:    engines.Location{File: "fail.jsonnet", Line: 3, Column: 3},
	InvalidAt:  engines.Location{File: "invalid.jsonnet", Line: 2, Column: 6},
	Exempt:     map[string]string{"time dependent": "Jsonnet has no clock"},
}

func TestConformance(t *testing.T) { enginetest.Run(t, suite) }

// TestConformanceWithCoverage checks that counting coverage changes nothing.
func TestConformanceWithCoverage(t *testing.T) { enginetest.Run(t, enginetest.Covered(suite)) }
