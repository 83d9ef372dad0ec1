package sandbox

import "testing"

func TestDeathReason(t *testing.T) {
	cases := map[string]struct {
		death death
		want  string
	}{
		"by the host":           {death{by: becauseDeadline, stderr: "fatal error: out of memory"}, becauseDeadline},
		"the heap":              {death{stderr: "fatal error: runtime: out of memory\n\ngoroutine 1"}, becauseMemory},
		"a mapping":             {death{stderr: "runtime: cannot allocate memory"}, becauseMemory},
		"a thread":              {death{stderr: "runtime: failed to create new OS thread (have 6 already; errno=11)"}, becauseMemory},
		"a thread, by C":        {death{stderr: "runtime/cgo: pthread_create failed: Resource temporarily unavailable"}, becauseMemory},
		"a fault":               {death{stderr: "SIGSEGV: segmentation violation\nPC=0x1"}, becauseMemory},
		"the stack":             {death{stderr: "runtime: goroutine stack exceeds 67108864-byte limit"}, becauseStack},
		"a panic":               {death{stderr: "panic: runtime error: index out of range", status: "exit status 2"}, becauseCrash},
		"a panic about a fault": {death{stderr: "panic: runtime error\n[signal SIGSEGV: segmentation violation"}, becauseCrash},
		"nothing said":          {death{status: "signal: killed"}, becauseCrash},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.death.reason(); got != tc.want {
				t.Errorf("it ended because of %q, want %q", got, tc.want)
			}
		})
	}
}
