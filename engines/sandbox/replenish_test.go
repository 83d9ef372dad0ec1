package sandbox

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

func TestDescribeConfinement(t *testing.T) {
	bare := map[string]string{}
	for _, measure := range confine.Measures() {
		bare[measure] = "only on Linux"
	}
	cases := map[string]struct {
		reason  string
		report  map[string]string
		says    string
		missing map[string]string
	}{
		"all":  {"nothing is missing", map[string]string{"landlock": "", "seccomp": ""}, "script workers are confined", map[string]string{}},
		"some": {"an older kernel", map[string]string{"landlock": "none", "seccomp": ""}, "but not by all measures", map[string]string{"landlock": "none"}},
		"none": {"another system: the log warns", bare, "warning: ", bare},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			message, missing := describeConfinement(c.report)
			if !strings.Contains(message, c.says) {
				t.Errorf("it says %q, without %q", message, c.says)
			}
			if diff := cmp.Diff(c.missing, missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}
