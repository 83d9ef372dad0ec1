// Package quota limits processes to a part of a processor, as a container is limited.
package quota

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// period is the time within which a quota holds. It is that of containers.
const period = 100 * time.Millisecond

// Quota bounds the processor time of processes by a control group. Nil bounds nothing.
type Quota struct {
	root, dir string
	version   int
	signals   *signals // In place of a control group.
}

// number makes the names of the quotas of a process unique.
var number atomic.Int64

// New makes a control group whose processes have that many processors together.
func New(cpus float64) (*Quota, error) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return nil, fmt.Errorf("there are no control groups: %w", err)
	}
	root, version := cgroupRoot(string(mounts), func(dir string) bool {
		controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
		return err == nil && slices.Contains(strings.Fields(string(controllers)), "cpu")
	})
	if root == "" {
		return nil, errors.New("no control group that bounds processors is mounted here")
	}
	q := &Quota{root: root, dir: filepath.Join(root, fmt.Sprintf("libretto-%d-%d", os.Getpid(), number.Add(1))), version: version}
	if version == 2 {
		_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu"), 0) // If it is not there, setting the quota fails.
	}
	if err := os.Mkdir(q.dir, 0o755); err != nil {
		return nil, fmt.Errorf("it takes the right to make a control group: %w", err)
	}
	if err := q.Set(cpus); err != nil {
		return nil, errors.Join(err, q.Remove())
	}
	return q, nil
}

// NewAnywhere is New. Where there are no control groups, the processes are stopped most of the time.
func NewAnywhere(cpus float64) *Quota {
	q, err := New(cpus)
	if err != nil {
		q = &Quota{signals: newSignals()}
		_ = q.Set(cpus)
	}
	return q
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

// Set changes how many processors the processes have together.
func (q *Quota) Set(cpus float64) error {
	share := time.Duration(cpus * float64(period))
	if q.signals != nil {
		q.signals.share.Store(int64(share))
		return nil
	}
	return q.set(strconv.FormatInt(share.Microseconds(), 10))
}

// set sets the quota, in microseconds of each period, or none.
func (q *Quota) set(microseconds string) error {
	if q.version == 2 {
		return os.WriteFile(filepath.Join(q.dir, "cpu.max"), fmt.Appendf(nil, "%s %d", microseconds, period.Microseconds()), 0)
	}
	return os.WriteFile(filepath.Join(q.dir, "cpu.cfs_quota_us"), []byte(microseconds), 0) // The period is that of containers by default.
}

// Lift lifts the bound.
func (q *Quota) Lift() error {
	switch {
	case q == nil:
		return nil
	case q.signals != nil:
		return q.Set(1)
	case q.version == 2:
		return q.set("max")
	default:
		return q.set("-1")
	}
}

// Add bounds a process, and those that it starts. By signals these are not bounded.
func (q *Quota) Add(pid int) error {
	if q.signals != nil {
		q.signals.add(pid)
		return nil
	}
	return os.WriteFile(filepath.Join(q.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

// Inside returns a command line that runs args in the group, as the process that is started.
func (q *Quota) Inside(args []string) []string {
	return append([]string{"/bin/sh", "-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(q.dir, "cgroup.procs")}, args...)
}

// Remove ends the bound. Processes go back to where all are.
func (q *Quota) Remove() error {
	if q.signals != nil {
		q.signals.end()
		return nil
	}
	var err error
	for range 50 {
		pids, _ := os.ReadFile(filepath.Join(q.dir, "cgroup.procs"))
		for pid := range strings.FieldsSeq(string(pids)) {
			_ = os.WriteFile(filepath.Join(q.root, "cgroup.procs"), []byte(pid), 0)
		}
		if err = os.Remove(q.dir); err == nil || os.IsNotExist(err) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
