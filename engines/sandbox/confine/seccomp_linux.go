//go:build amd64 || arm64

package confine

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets of the fields of seccomp_data on little-endian machines.
const (
	offsetNumber   = 0
	offsetArch     = 4
	offsetArgument = 16
)

const (
	retAllow = unix.SECCOMP_RET_ALLOW
	retEPERM = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	// retENOSYS is for a call that libc tries first and can do without.
	retENOSYS = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// allowedCalls are the calls that the Go runtime and the worker need and that all architectures have.
// Other calls get EPERM instead of a kill: a later runtime may work without them.
var allowedCalls = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_CLOSE, unix.SYS_FCNTL, unix.SYS_FSTAT,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_BRK, unix.SYS_MINCORE,
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_MEMBARRIER,
	unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_CREATE1, unix.SYS_EVENTFD2,
	unix.SYS_GETRANDOM, unix.SYS_GETRLIMIT,
}

func statement(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func loadField(offset uint32) unix.SockFilter {
	return statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset)
}

func ret(a uint32) unix.SockFilter { return statement(unix.BPF_RET|unix.BPF_K, a) }

// skipUnlessEqual skips that many instructions unless the loaded value is k.
func skipUnlessEqual(k uint32, skip uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: skip}
}

// filterProgram returns the filter: an allow-list, and three calls whose arguments are checked.
func filterProgram() []unix.SockFilter {
	p := []unix.SockFilter{
		loadField(offsetArch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: auditArch, Jt: 1},
		ret(retEPERM), // Call numbers of another architecture mean other calls.
		loadField(offsetNumber),
	}
	for _, number := range slices.Concat(allowedCalls, archCalls) {
		p = append(p, skipUnlessEqual(number, 1), ret(retAllow))
	}
	p = append(p, skipUnlessEqual(unix.SYS_CLONE3, 1), ret(retENOSYS))
	p = append(p, allowThreads()...)
	p = append(p, allowSelf(unix.SYS_PRLIMIT64)...)
	p = append(p, allowOwnSignals()...)
	return append(p, ret(retEPERM))
}

// allowThreads allows clone for threads of this process.
func allowThreads() []unix.SockFilter {
	return []unix.SockFilter{
		skipUnlessEqual(unix.SYS_CLONE, 4),
		loadField(offsetArgument),
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_THREAD, Jf: 1},
		ret(retAllow),
		ret(retEPERM),
	}
}

// allowSelf allows a call whose first argument, a process, is zero: the caller.
func allowSelf(number uint32) []unix.SockFilter {
	return []unix.SockFilter{
		skipUnlessEqual(number, 4),
		loadField(offsetArgument),
		skipUnlessEqual(0, 1),
		ret(retAllow),
		ret(retEPERM),
	}
}

// allowOwnSignals allows signals to this process. The Go runtime sends them for preemption.
func allowOwnSignals() []unix.SockFilter {
	return []unix.SockFilter{
		skipUnlessEqual(unix.SYS_TGKILL, 4),
		loadField(offsetArgument),
		skipUnlessEqual(uint32(unix.Getpid()), 1),
		ret(retAllow),
		ret(retEPERM),
	}
}

// installFilter installs the filter on all threads.
func installFilter() error {
	filter := filterProgram()
	if len(filter) > math.MaxUint16 {
		return fmt.Errorf("the filter has %d instructions", len(filter))
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	if thread != 0 {
		return fmt.Errorf("thread %d can't be filtered", thread)
	}
	return nil
}
