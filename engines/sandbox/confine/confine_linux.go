package confine

import (
	"errors"
	"os"
	"runtime"
	"strconv"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// Apply confines this process for the rest of its life. It is called once, before
// anything of a script is read. Without seccomp the filter of system calls is left out.
func Apply(seccomp bool) *Confined {
	c := &Confined{Report: Report{}}
	// The files come first: afterwards none can be opened.
	c.Report.note(Descriptors, closeInherited())
	c.Report.note(OOMScore, os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0))
	var err error
	c.memory, err = readMemory()
	if err == nil {
		err = c.memory.limit(MaxBudget)
	}
	c.Report.note(MemoryLimit, err)
	c.Report.note(Rlimits, limitOthers())
	c.Report.note(Undumpable, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	c.Report.note(Landlock, restrictFiles())
	c.Report.note(Seccomp, errors.New("turned off"))
	if seccomp {
		c.Report.note(Seccomp, filterCalls())
	}
	c.Report.note(NoNewPrivileges, nil)
	if c.Report[Seccomp] != "" { // Which can't be had without.
		c.Report.note(NoNewPrivileges, dropPrivileges())
	}
	return c
}

// closeInherited closes what the host was given by whoever started it, and did not
// know of. Such descriptors survive exec; those of this process's own do not.
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
			_ = unix.Close(fd) // The one of ReadDir is closed already.
		}
	}
	return nil
}

// limitOthers sets what can be counted beside memory. The number of processes is
// not among it: the Go runtime's own threads count as such.
func limitOthers() error {
	for resource, most := range map[int]uint64{
		unix.RLIMIT_NOFILE: 16,
		unix.RLIMIT_FSIZE:  0,
		unix.RLIMIT_CORE:   0,
		unix.RLIMIT_STACK:  8 << 20,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}

// restrictFiles applies a Landlock ruleset without rules. The best effort succeeds
// on a kernel that has no Landlock at all, so that the root is tried afterwards.
func restrictFiles() error {
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

// dropPrivileges says whether Landlock, which needs it, has set no_new_privs on all
// threads. If not, it is set on the thread at hand and those that it starts.
func dropPrivileges() error {
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
