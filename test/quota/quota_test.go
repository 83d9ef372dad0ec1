package quota

import "testing"

// TestCgroupRoot checks which control groups are used where there are several.
func TestCgroupRoot(t *testing.T) {
	for name, c := range map[string]struct {
		mounts, dir string
		version     int
	}{
		"version 1": {"cgroup /sys/fs/cgroup/cpuacct cgroup rw,cpuacct 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
			"/sys/fs/cgroup/cpu", 1},
		"together":  {"cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n", "/sys/fs/cgroup/cpu,cpuacct", 1},
		"version 2": {"proc /proc proc rw 0 0\ncgroup2 /bounds cgroup2 rw 0 0\n", "/bounds", 2},
		"none":      {"cgroup2 /other cgroup2 rw 0 0\n", "", 0},
	} {
		if dir, version := cgroupRoot(c.mounts, func(dir string) bool { return dir == "/bounds" }); dir != c.dir || version != c.version {
			t.Errorf("%s: %q of version %d", name, dir, version)
		}
	}
}
