package serve

import "testing"

func TestMemorySettings(t *testing.T) {
	const mi = 1 << 20
	cases := map[string]struct {
		reason    string
		env       map[string]string
		container uint64
		workers   int
		want      memorySettings
	}{
		"NoContainer":  {reason: "without a limit there is none", workers: 3, want: memorySettings{GCPercent: gcPercent}},
		"Container":    {reason: "workers and a tenth are left to others", container: 1000 * mi, workers: 3, want: memorySettings{gcPercent, 756 * mi}},
		"ManyWorkers":  {reason: "half is the host's, however many workers there may be", container: 1000 * mi, workers: 30, want: memorySettings{gcPercent, 500 * mi}},
		"InProcess":    {reason: "scripts in this process take no memory of others", container: 1000 * mi, want: memorySettings{gcPercent, 900 * mi}},
		"Limit":        {reason: "the environment has precedence", env: map[string]string{"GOMEMLIMIT": "1GiB"}, container: 1000 * mi, want: memorySettings{GCPercent: gcPercent}},
		"Off":          {reason: "it can turn the limit off", env: map[string]string{"GOMEMLIMIT": "off"}, container: 1000 * mi, want: memorySettings{GCPercent: gcPercent}},
		"GOGC":         {reason: "each is for itself", env: map[string]string{"GOGC": "100"}, container: 1000 * mi, want: memorySettings{0, 900 * mi}},
		"Inconsistent": {reason: "a limit of all that there is is no reason to overflow", container: 1<<64 - 1, want: memorySettings{gcPercent, 1 << 62 / 10 * 9}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := memorySettingsFor(func(name string) string { return tc.env[name] }, tc.container, tc.workers)
			if got != tc.want {
				t.Errorf("%s: got %+v, want %+v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestQuietness(t *testing.T) {
	var q quietness
	steps := []struct {
		reason          string
		allocated, heap uint64
		busy, begins    bool
	}{
		{"it starts", 100 << 20, 10 << 20, true, false},
		{"the first time without much to do", 101 << 20, 10 << 20, false, true},
		{"what is quiet stays so", 102 << 20, 10 << 20, false, false},
		{"little is done for long", 105 << 20, 10 << 20, false, false},
		{"a burst", 300 << 20, 100 << 20, true, false},
		{"which is small beside the heap", 300 << 20, 150 << 20, false, false},
		{"and goes on", 500 << 20, 150 << 20, true, false},
		{"and has ended", 500 << 20, 150 << 20, false, true},
		{"nothing at all", 500 << 20, 80 << 20, false, false},
	}
	if _, begins := (&quietness{}).next(1<<20, 1<<20); !begins {
		t.Error("a start that took little is over, too")
	}
	for _, s := range steps {
		if busy, begins := q.next(s.allocated, s.heap); busy != s.busy || begins != s.begins {
			t.Errorf("%s: got %v, %v", s.reason, busy, begins)
		}
	}
}
