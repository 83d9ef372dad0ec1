package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlockcalls "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

var errTurnedOff = errors.New("turned off")

// Apply confines this process for the rest of its life. It must be called once, before any script is
// read.
func Apply(options Options) *Confined {
	c := &Confined{Report: Report{}, maxBudget: uint64(max(options.MaxBudget, 0))}
	// These two come first: later no file can be opened.
	c.Report.set(Descriptors, closeInherited())
	c.Report.set(OOMScore, os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0))
	var err error
	c.memory, err = readMemory()
	if err == nil {
		err = c.memory.limit(c.maxBudget)
	}
	c.Report.set(MemoryLimit, err)
	c.Report.set(Undumpable, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	c.Report.set(Landlock, restrictAccess(options.LandlockABI))
	c.Report.set(Rlimits, setRlimits()) // After Landlock, which needs a descriptor.
	c.Report.set(Seccomp, errTurnedOff)
	if !options.WithoutSeccomp {
		c.Report.set(Seccomp, installFilter())
	}
	c.Report.set(NoNewPrivileges, nil)
	if c.Report[Seccomp] != "" { // Seccomp implies it.
		c.Report.set(NoNewPrivileges, setNoNewPrivileges())
	}
	return c
}

// closeInherited closes descriptors that the host inherited without knowing. They survive exec; the
// host's own do not.
func closeInherited() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range open {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // The descriptor of ReadDir is closed already.
		}
	}
	return nil
}

// setRlimits sets limits other than memory. The number of processes is not limited, because the threads
// of the Go runtime count.
//
// No descriptor may be opened any more, neither of a file nor of a socket or a pipe. That does not need the kernel to have Landlock or
// seccomp, and holds for the process of any other program that the worker becomes. Those that are open keep working.
func setRlimits() error {
	time.AfterFunc(0, func() {}) // The runtime opens its poller with the first timer.
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_NOFILE: 0,
		unix.RLIMIT_FSIZE:  0,
		unix.RLIMIT_CORE:   0,
		unix.RLIMIT_STACK:  8 << 20,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}

// rulesets are the restrictions of each version of Landlock, from the first on. A later version restricts
// more.
var rulesets = []landlock.Config{
	landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6, landlock.V7, landlock.V8, landlock.V9,
	landlock.V10, landlock.V11,
}

// signalScopeABI is the first version of Landlock that keeps signals to the process. Linux 6.12 has it.
const signalScopeABI = 6

// restrictAccess applies a Landlock ruleset without rules, of at most that version unless it is zero, or none if it is negative.
// BestEffort succeeds on a kernel without Landlock, so the result is tested.
func restrictAccess(maxABI int) error {
	if maxABI < 0 {
		return errTurnedOff
	}
	abi, _ := landlockcalls.LandlockGetABIVersion() // Zero if there is no Landlock.
	if maxABI > 0 {
		abi = min(abi, maxABI)
	}
	newest := min(max(abi, 1), len(rulesets))
	if err := rulesets[newest-1].BestEffort().Restrict(); err != nil {
		return err
	}
	root, err := os.Open("/")
	if err == nil {
		root.Close()
		return errors.New("this kernel has none")
	}
	if abi < signalScopeABI {
		return fmt.Errorf(partial+"its version here is %d, and signals are kept to the worker from version %d on, which Linux 6.12 has",
			abi, signalScopeABI)
	}
	return nil
}

// setNoNewPrivileges returns nil if Landlock, which needs no_new_privs, has set it on all threads.
// Otherwise it sets it on the current thread and those started from it, and returns an error.
func setNoNewPrivileges() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || set == 1 {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return errors.New("only on one thread")
}
