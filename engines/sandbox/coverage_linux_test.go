package sandbox_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// TestCoverage checks that the coverage of a call that fails comes through, if it is asked for, and only then.
func TestCoverage(t *testing.T) {
	caller := enginetest.Caller{Definition: newPool(t, sandbox.Config{}).Definitions([]engines.Definition{probe()})[0], Path: "probe.probe"}
	engine := caller.Start(t)
	at := engines.Location{File: "probe.probe", Line: 1, Column: 2}
	cases := map[string]struct {
		reason string
		source engines.Source
		points []engines.CoveragePoint
		want   engines.Coverage
	}{
		"asked for":     {"the program counts", enginetest.WithCoverage(caller.Script("coverage")), []engines.CoveragePoint{{Location: at}}, engines.Coverage{1}},
		"not asked for": {"a worker can't make the host hold what it did not ask for", caller.Script("coverage"), nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			program, err := engine.Compile(t.Context(), c.source)
			if err != nil {
				t.Fatal(err)
			}
			response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{}})
			if err == nil || err.Error() != "boom" {
				t.Errorf("error %v, want boom", err)
			}
			if diff := cmp.Diff(c.points, program.CoveragePoints()); diff != "" {
				t.Errorf("points (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, response.Coverage); diff != "" {
				t.Errorf("coverage (-want +got):\n%s", diff)
			}
		})
	}
	_, err := engine.Compile(t.Context(), enginetest.WithCoverage(caller.Script("coverage of another file")))
	if err == nil || !strings.Contains(err.Error(), "a file that the script does not have") {
		t.Errorf("points of another file: error %v", err)
	}
}

// TestOutline checks that the outline of a program comes through if it is asked for, and only then.
func TestOutline(t *testing.T) {
	caller := enginetest.Caller{Definition: newPool(t, sandbox.Config{}).Definitions([]engines.Definition{probe()})[0], Path: "probe.probe"}
	engine := caller.Start(t)
	source := caller.Script("echo")
	for asked, want := range map[bool]*engines.Outline{true: {Function: "echo"}, false: nil} {
		script := *source.Script
		script.Outline = asked
		program, err := engine.Compile(t.Context(), engines.Source{Hook: source.Hook, Script: &script})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, program.Outline()); diff != "" {
			t.Errorf("asked %v (-want +got):\n%s", asked, diff)
		}
		later, err := program.(engines.Outliner).LoadOutline(t.Context())
		if diff := cmp.Diff(&engines.Outline{Function: "echo"}, later); diff != "" || err != nil {
			t.Errorf("loaded later, asked %v: error %v (-want +got):\n%s", asked, err, diff)
		}
	}
}

// TestCoverageIsBounded checks that the host refuses more than a program may have.
func TestCoverageIsBounded(t *testing.T) {
	objects := wire.NewObjects()
	for name, answer := range map[string]protocol.Answer{
		"points":   {Points: make([]engines.CoveragePoint, engines.MaxCoveragePoints+1)},
		"coverage": {Response: engines.Response{Coverage: engines.NewCoverage(engines.MaxCoveragePoints + 8)}},
	} {
		if _, err := protocol.ReadAnswer(answer.Append(nil, objects), objects.Get); err == nil {
			t.Errorf("too many %s are read", name)
		}
	}
}
