package main

import (
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
)

func TestCheck(t *testing.T) {
	cases := map[string]struct {
		line []string
		want string
	}{
		"its host":           {line: []string{"libretto", worker.Argument, version, "without-seccomp"}},
		"a host of another":  {line: []string{"libretto", worker.Argument, "v9.9.9"}, want: "the libretto beside it is version v9.9.9: install both from one build"},
		"a host that is old": {line: []string{"libretto", worker.Argument}, want: "started by libretto"},
		"a user":             {line: []string{"libretto-worker", "--help"}, want: "started by libretto"},
		"no arguments":       {line: nil, want: "started by libretto"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := check(tc.line)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("it says %v, want %q", err, tc.want)
			}
		})
	}
}
