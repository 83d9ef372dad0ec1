package sandbox

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

func TestDescribeConfinement(t *testing.T) {
	bare := map[string]string{}
	for _, measure := range confine.Measures() {
		bare[measure] = "only on Linux"
	}
	const old = "its version is 5"
	cases := map[string]struct {
		reason           string
		report           map[string]string
		says             string
		missing, partial map[string]string
	}{
		"all":  {"nothing is missing", map[string]string{"landlock": "", "seccomp": ""}, "script workers are confined", nil, nil},
		"some": {"a kernel without it", map[string]string{"landlock": "none", "seccomp": ""}, "but not by all measures", map[string]string{"landlock": "none"}, nil},
		"part": {"an older kernel", map[string]string{"landlock": "partial: " + old, "seccomp": ""}, "but not by all measures", nil, map[string]string{"landlock": old}},
		"none": {"another system", bare, "nothing else confines them", bare, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			message, missing, partial := describeConfinement(c.report)
			if !strings.Contains(message, c.says) {
				t.Errorf("it says %q, without %q", message, c.says)
			}
			if diff := cmp.Diff([]map[string]string{c.missing, c.partial}, []map[string]string{missing, partial}, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("missing and partial (-want +got):\n%s", diff)
			}
		})
	}
}
