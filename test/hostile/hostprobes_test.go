//go:build linux

package hostile

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hostProbes aim at the process of the host, whose ID they are given: in a worker, os.Getppid is refused.
// They must all fail.
var hostProbes = map[string]func(canary) error{
	"who the host is":                  func(canary) error { return call(unix.SYS_GETPPID, 0, 0, 0) },
	"the host's environment":           func(c canary) error { return reads(c.proc("environ")) },
	"the host's memory":                func(c canary) error { return reads(c.proc("mem")) },
	"where the host's memory is":       func(c canary) error { return reads(c.proc("maps")) },
	"the host's descriptors":           func(c canary) error { return second(os.ReadDir(c.proc("fd"))) },
	"the host's files":                 func(c canary) error { return second(os.ReadDir(c.proc("root"))) },
	"the host's state":                 func(c canary) error { return reads(c.proc("status")) },
	"the host's score for the killer":  func(c canary) error { return os.WriteFile(c.proc("oom_score_adj"), []byte("1000"), 0) },
	"read the host's memory (call)":    func(c canary) error { return moves(unix.SYS_PROCESS_VM_READV, c.host) },
	"write the host's memory (call)":   func(c canary) error { return moves(unix.SYS_PROCESS_VM_WRITEV, c.host) },
	"advise on the host's memory":      func(c canary) error { return call(unix.SYS_PROCESS_MADVISE, uintptr(c.host), 0, 0) },
	"move the host's memory":           func(c canary) error { return call(unix.SYS_MOVE_PAGES, uintptr(c.host), 0, 0) },
	"trace the host":                   func(c canary) error { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(c.host), 0) },
	"stop the host":                    func(c canary) error { return call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(c.host), 0) },
	"compare with the host":            func(c canary) error { return call(unix.SYS_KCMP, uintptr(c.host), uintptr(c.host), 0) },
	"signal the host":                  func(c canary) error { return syscall.Kill(c.host, 0) },
	"signal everybody":                 func(canary) error { return syscall.Kill(-1, 0) },
	"signal the group":                 func(canary) error { return syscall.Kill(0, 0) },
	"signal a thread":                  func(c canary) error { return unix.Tgkill(c.host, c.host, 0) },
	"signal a thread (old call)":       func(c canary) error { return call(unix.SYS_TKILL, uintptr(c.host), 0, 0) },
	"queue a signal":                   func(c canary) error { return queues(unix.SYS_RT_SIGQUEUEINFO, c.host) },
	"queue a signal to a thread":       func(c canary) error { return queues(unix.SYS_RT_TGSIGQUEUEINFO, c.host) },
	"a handle of the host":             func(c canary) error { return second(unix.PidfdOpen(c.host, 0)) },
	"signal by a handle":               func(canary) error { return call(unix.SYS_PIDFD_SEND_SIGNAL, 0, 0, 0) },
	"a descriptor by a handle":         func(canary) error { return call(unix.SYS_PIDFD_GETFD, 0, 0, 0) },
	"wait for the host":                func(c canary) error { return second(unix.Wait4(c.host, nil, unix.WNOHANG, nil)) },
	"a signal when there is input":     func(c canary) error { return second(unix.FcntlInt(stderr, unix.F_SETOWN, c.host)) },
	"the same to a thread":             func(c canary) error { return owns(c.host) },
	"which signal":                     func(canary) error { return second(unix.FcntlInt(stderr, unix.F_SETSIG, int(unix.SIGKILL))) },
	"have it sent":                     func(canary) error { return second(unix.FcntlInt(stderr, unix.F_SETFL, unix.O_ASYNC)) },
	"a signal when there is input (2)": func(c canary) error { return controls(fioSetOwn, c.host) },
	"a signal when there is input (3)": func(c canary) error { return controls(siocSetGroup, c.host) },
	"have it sent (2)":                 func(canary) error { return controls(fioAsync, 1) },
	"a signal by a timer":              func(canary) error { return call(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, 0, 0) },
	"a signal by an alarm":             func(canary) error { return call(unix.SYS_SETITIMER, 0, 0, 0) },
	"a signal by the worker's end":     func(canary) error { return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) },
	"the host's group":                 func(c canary) error { return unix.Setpgid(0, c.host) },
	"move the host to a group":         func(c canary) error { return unix.Setpgid(c.host, 0) },
	"the host's limits":                func(c canary) error { return unix.Prlimit(c.host, unix.RLIMIT_NOFILE, nil, &unix.Rlimit{}) },
	"limit the host":                   func(c canary) error { return unix.Prlimit(c.host, unix.RLIMIT_CORE, &unix.Rlimit{}, nil) },
	"the host's priority":              func(c canary) error { return unix.Setpriority(unix.PRIO_PROCESS, c.host, 1) },
	"the host's processors":            func(c canary) error { return unix.SchedSetaffinity(c.host, &unix.CPUSet{}) },
	"the host's scheduler":             func(c canary) error { return call(unix.SYS_SCHED_SETSCHEDULER, uintptr(c.host), 0, 0) },
	"the host's locks":                 func(c canary) error { return call(unix.SYS_GET_ROBUST_LIST, uintptr(c.host), 0, 0) },
	"measure the host":                 func(c canary) error { return call(unix.SYS_PERF_EVENT_OPEN, 0, uintptr(c.host), 0) },
	"the host's namespaces":            func(c canary) error { return second(os.Open(c.proc("ns/mnt"))) },
}

func allProbes() map[string]func(canary) error {
	all := maps.Clone(probes)
	maps.Copy(all, hostProbes)
	return all
}

// stderr is a pipe that every worker has.
const stderr = 2

// Commands of ioctl, the same on all architectures that workers are filtered on.
const (
	fioAsync     = 0x5452
	fioSetOwn    = 0x8901
	siocSetGroup = 0x8902
)

// ownerThread says that the owner of a descriptor is a thread.
const ownerThread = 0

// proc is a file about the host.
func (c canary) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", c.host, name) }

// secretOfHost is what the host's memory has, at the same place in all processes of this binary that are
// not moved in memory.
var secretOfHost = [8]byte{1, 2, 3, 4, 5, 6, 7, 8}

// moves reads or writes the host's memory.
func moves(number uintptr, host int) error {
	var own [8]byte
	local := unix.Iovec{Base: &own[0]}
	local.SetLen(len(own))
	remote := unix.RemoteIovec{Base: uintptr(unsafe.Pointer(&secretOfHost)), Len: len(own)}
	_, _, failure := unix.RawSyscall6(number, uintptr(host), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if failure != 0 {
		return failure
	}
	return nil
}

// queues sends no signal with a value.
func queues(number uintptr, host int) error {
	info := [128]byte{8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff} // SI_QUEUE, as by sigqueue.
	at := uintptr(unsafe.Pointer(&info))
	if number == unix.SYS_RT_TGSIGQUEUEINFO {
		_, _, failure := unix.RawSyscall6(number, uintptr(host), uintptr(host), 0, at, 0, 0)
		return orNil(failure)
	}
	_, _, failure := unix.RawSyscall(number, uintptr(host), 0, at)
	return orNil(failure)
}

func orNil(failure syscall.Errno) error {
	if failure != 0 {
		return failure
	}
	return nil
}

// owns makes a thread of the host the one that gets the signal about input.
func owns(host int) error {
	owner := [2]int32{ownerThread, int32(host)}
	_, _, failure := unix.RawSyscall(unix.SYS_FCNTL, stderr, unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&owner)))
	return orNil(failure)
}

func controls(command uint, value int) error { return unix.IoctlSetPointerInt(stderr, command, value) }

// reaching are the probes that any process of the same user is permitted.
var reaching = []string{
	"who the host is", "the host's state", "signal the host", "signal a thread", "signal a thread (old call)", "queue a signal",
	"queue a signal to a thread", "a handle of the host", "a signal when there is input", "the same to a thread", "which signal",
	"have it sent",
	"have it sent (2)", "the host's limits", "limit the host", "shared pages", "a stack of one's own",
	"memory that doesn't count", "a larger pipe",
}

const (
	// unconfinedVariable names a probe that this process is to try without being confined.
	unconfinedVariable = "LIBRETTO_HOSTILE_PROBE"
	hostVariable       = "LIBRETTO_HOSTILE_HOST"
)

// probeUnconfined tries a probe and exits if this process was started for that.
func probeUnconfined() {
	name := os.Getenv(unconfinedVariable)
	if name == "" {
		return
	}
	host, err := strconv.Atoi(os.Getenv(hostVariable))
	if err == nil {
		err = allProbes()[name](canary{host: host})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestProbesReachTheHost tries probes in a process that is not confined: there they succeed. So it is the
// confinement that refuses them, and not that they aim at nobody.
func TestProbesReachTheHost(t *testing.T) {
	for _, name := range slices.Sorted(slices.Values(reaching)) {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "/proc/self/exe")
			command.Env = append(os.Environ(), unconfinedVariable+"="+name, hostVariable+"="+strconv.Itoa(os.Getpid()))
			if out, err := command.Output(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
