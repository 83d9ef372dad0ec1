package sandbox

import "testing"

func TestExitReason(t *testing.T) {
	cases := map[string]struct {
		exit workerExit
		want string
	}{
		"by the host":           {workerExit{killReason: reasonDeadline, stderr: "fatal error: out of memory"}, reasonDeadline},
		"the heap":              {workerExit{stderr: "fatal error: runtime: out of memory\n\ngoroutine 1"}, reasonMemory},
		"a mapping":             {workerExit{stderr: "runtime: cannot allocate memory"}, reasonMemory},
		"a thread":              {workerExit{stderr: "runtime: failed to create new OS thread (have 6 already; errno=11)"}, reasonMemory},
		"a thread, by C":        {workerExit{stderr: "runtime/cgo: pthread_create failed: Resource temporarily unavailable"}, reasonMemory},
		"a fault":               {workerExit{stderr: "SIGSEGV: segmentation violation\nPC=0x1"}, reasonMemory},
		"the stack":             {workerExit{stderr: "runtime: goroutine stack exceeds 67108864-byte limit"}, reasonStack},
		"a panic":               {workerExit{stderr: "panic: runtime error: index out of range", status: "exit status 2"}, reasonCrash},
		"a panic about a fault": {workerExit{stderr: "panic: runtime error\n[signal SIGSEGV: segmentation violation"}, reasonCrash},
		"nothing said":          {workerExit{status: "signal: killed"}, reasonCrash},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.exit.reason(); got != tc.want {
				t.Errorf("reason %q, want %q", got, tc.want)
			}
		})
	}
}
