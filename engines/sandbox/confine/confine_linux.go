package confine

import (
	"errors"
	"os"
	"runtime"
	"strconv"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// Apply confines this process for the rest of its life. It must be called once, before any script is
// read. If seccomp is false, system calls are not filtered.
func Apply(seccomp bool) *Confined {
	c := &Confined{Report: Report{}}
	// These two come first: later no file can be opened.
	c.Report.set(Descriptors, closeInherited())
	c.Report.set(OOMScore, os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0))
	var err error
	c.memory, err = readMemory()
	if err == nil {
		err = c.memory.limit(MaxBudget)
	}
	c.Report.set(MemoryLimit, err)
	c.Report.set(Rlimits, setRlimits())
	c.Report.set(Undumpable, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	c.Report.set(Landlock, restrictPaths())
	c.Report.set(Seccomp, errors.New("turned off"))
	if seccomp {
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
func setRlimits() error {
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_NOFILE: 16,
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

// restrictPaths applies a Landlock ruleset without rules. BestEffort succeeds on a kernel without
// Landlock, so the result is tested.
func restrictPaths() error {
	if err := landlock.V11.BestEffort().Restrict(); err != nil {
		return err
	}
	root, err := os.Open("/")
	if err == nil {
		root.Close()
		return errors.New("this kernel has none")
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
