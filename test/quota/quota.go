package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// quotaPeriod is the time within which a quota holds. It is that of containers.
const quotaPeriod = 100 * time.Millisecond

// quota bounds the processor time of processes by a control group. Nil bounds nothing.
type quota struct {
	dir     string
	version int
}

// newQuota makes a control group whose processes have that many processors together.
func newQuota(cpus float64) (*quota, error) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return nil, fmt.Errorf("-cpus: there are no control groups: %w", err)
	}
	root, version := cgroupRoot(string(mounts), func(dir string) bool {
		controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
		return err == nil && slices.Contains(strings.Fields(string(controllers)), "cpu")
	})
	if root == "" {
		return nil, fmt.Errorf("-cpus: no control group that bounds processors is mounted here")
	}
	q := &quota{dir: filepath.Join(root, fmt.Sprintf("libretto-scale-%d", os.Getpid())), version: version}
	if version == 2 {
		_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu"), 0) // If it is not there, setting the quota fails.
	}
	if err := os.Mkdir(q.dir, 0o755); err != nil {
		return nil, fmt.Errorf("-cpus needs the right to make a control group: %w", err)
	}
	if err := q.set(strconv.Itoa(int(cpus * float64(quotaPeriod.Microseconds())))); err != nil {
		_ = q.remove()
		return nil, fmt.Errorf("-cpus: %w", err)
	}
	return q, nil
}

// cgroupRoot returns where control groups that bound processors are mounted, of the text of /proc/mounts, and their version.
func cgroupRoot(mounts string, bounds func(dir string) bool) (dir string, version int) {
	for lines := bufio.NewScanner(strings.NewReader(mounts)); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // device directory type options
		switch {
		case len(fields) < 4:
		case fields[2] == "cgroup" && slices.Contains(strings.Split(fields[3], ","), "cpu"):
			return fields[1], 1
		case fields[2] == "cgroup2" && bounds(fields[1]):
			dir, version = fields[1], 2
		}
	}
	return dir, version
}

// set sets the quota, in microseconds of each period, or none.
func (q *quota) set(microseconds string) error {
	if q.version == 2 {
		return os.WriteFile(filepath.Join(q.dir, "cpu.max"), fmt.Appendf(nil, "%s %d", microseconds, quotaPeriod.Microseconds()), 0)
	}
	return os.WriteFile(filepath.Join(q.dir, "cpu.cfs_quota_us"), []byte(microseconds), 0) // The period is that of containers by default.
}

// lift lifts the bound.
func (q *quota) lift() error {
	switch {
	case q == nil:
		return nil
	case q.version == 2:
		return q.set("max")
	default:
		return q.set("-1")
	}
}

// inside returns a command line that runs args in the group, as the process that is started.
func (q *quota) inside(args []string) []string {
	return append([]string{"/bin/sh", "-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(q.dir, "cgroup.procs")}, args...)
}

// remove removes the group, whose processes have ended or are about to.
func (q *quota) remove() error {
	var err error
	for range 50 {
		if err = os.Remove(q.dir); err == nil || os.IsNotExist(err) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
