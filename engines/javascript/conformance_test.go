package javascript

import (
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

// source returns the suite's hooks. All but one are written as JavaScript.
var source = enginetest.Files("testdata")

var suite = enginetest.Suite{
	Definition: Definition(),
	Source:     source,
	FailsAt:    engines.Location{File: "fail.js", Line: 3, Column: 9},
	InvalidAt:  engines.Location{File: "invalid.js", Line: 2, Column: 14},
}

func TestConformance(t *testing.T) { enginetest.Run(t, suite) }

// TestConformanceWithCoverage checks that counting coverage changes nothing.
func TestConformanceWithCoverage(t *testing.T) { enginetest.Run(t, enginetest.Covered(suite)) }
