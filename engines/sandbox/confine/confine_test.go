package confine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

// TestUnmet has what each requirement misses in a report.
func TestUnmet(t *testing.T) {
	with := func(changed confine.Report) confine.Report {
		report := confine.Report{}
		for _, measure := range confine.Measures() {
			report[measure] = changed[measure]
		}
		return report
	}
	full := with(nil)
	noLandlock := with(confine.Report{confine.Landlock: "none here"})
	oldLandlock := with(confine.Report{confine.Landlock: "partial: old"})
	noSeccomp := with(confine.Report{confine.Seccomp: "turned off"})
	onlyOldLandlock := with(confine.Report{confine.Landlock: "partial: old", confine.Seccomp: "turned off"})
	neither := with(confine.Report{confine.Landlock: "none here", confine.Seccomp: "turned off"})
	both := []string{"landlock: none here", "seccomp: turned off"}
	for name, c := range map[string]struct {
		required confine.Requirement
		report   confine.Report
		want     []string
	}{
		"all is in force":              {confine.RequireAll, full, nil},
		"all, an old kernel":           {confine.RequireAll, oldLandlock, []string{"landlock: old"}},
		"all, but one":                 {confine.RequireAll, noLandlock, []string{"landlock: none here"}},
		"seccomp is":                   {confine.RequireSeccomp, noLandlock, nil},
		"seccomp is not":               {confine.RequireSeccomp, noSeccomp, []string{"seccomp: turned off"}},
		"any: seccomp":                 {confine.RequireAny, noLandlock, nil},
		"any: landlock":                {confine.RequireAny, noSeccomp, nil},
		"any: a part of landlock":      {confine.RequireAny, onlyOldLandlock, nil},
		"any: neither":                 {confine.RequireAny, neither, both},
		"none":                         {confine.RequireNone, neither, nil},
		"the zero value":               {"", neither, nil},
		"a worker that reports none":   {confine.RequireSeccomp, nil, []string{"seccomp: not reported"}},
		"any of a worker with none":    {confine.RequireAny, nil, []string{"landlock: not reported", "seccomp: not reported"}},
		"seccomp, and nothing besides": {confine.RequireSeccomp, confine.Report{confine.Seccomp: ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.required.Unmet(c.report), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("unmet (-want +got):\n%s", diff)
			}
		})
	}
}
