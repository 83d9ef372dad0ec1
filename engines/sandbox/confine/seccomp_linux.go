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

// Where the fields of seccomp_data are, on machines of this byte order.
const (
	offsetNumber   = 0
	offsetArch     = 4
	offsetArgument = 16
)

const (
	answerAllow = unix.SECCOMP_RET_ALLOW
	answerEPERM = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	// answerENOSYS is for a call that libc tries first and can do without.
	answerENOSYS = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// everywhere are the calls that the Go runtime makes and that the worker needs, by
// names that all architectures have. A call that is missing is answered with EPERM,
// which a later runtime may live with, and does not kill.
var everywhere = []uint32{
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

func load(offset uint32) unix.SockFilter {
	return statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset)
}

func answer(a uint32) unix.SockFilter { return statement(unix.BPF_RET|unix.BPF_K, a) }

// unless skips so many instructions unless the value at hand is k.
func unless(k uint32, skip uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: skip}
}

// program is the filter: an allow-list, and three calls whose arguments matter.
func program() []unix.SockFilter {
	p := []unix.SockFilter{
		load(offsetArch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: auditArch, Jt: 1},
		answer(answerEPERM), // Numbers of another architecture mean other calls.
		load(offsetNumber),
	}
	for _, number := range slices.Concat(everywhere, ofThisArch) {
		p = append(p, unless(number, 1), answer(answerAllow))
	}
	p = append(p, unless(unix.SYS_CLONE3, 1), answer(answerENOSYS))
	p = append(p, onlyThreads()...)
	p = append(p, onlyItself(unix.SYS_PRLIMIT64)...)
	p = append(p, onlyOwnSignals()...)
	return append(p, answer(answerEPERM))
}

// onlyThreads allows clone for threads of this process.
func onlyThreads() []unix.SockFilter {
	return []unix.SockFilter{
		unless(unix.SYS_CLONE, 4),
		load(offsetArgument),
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_THREAD, Jf: 1},
		answer(answerAllow),
		answer(answerEPERM),
	}
}

// onlyItself allows a call whose first argument, a process, is zero: the caller.
func onlyItself(number uint32) []unix.SockFilter {
	return []unix.SockFilter{
		unless(number, 4),
		load(offsetArgument),
		unless(0, 1),
		answer(answerAllow),
		answer(answerEPERM),
	}
}

// onlyOwnSignals allows signals to this process, which the Go runtime sends to preempt.
func onlyOwnSignals() []unix.SockFilter {
	return []unix.SockFilter{
		unless(unix.SYS_TGKILL, 4),
		load(offsetArgument),
		unless(uint32(unix.Getpid()), 1),
		answer(answerAllow),
		answer(answerEPERM),
	}
}

// filterCalls puts the filter on all threads.
func filterCalls() error {
	filter := program()
	if len(filter) > math.MaxUint16 {
		return fmt.Errorf("the filter has %d instructions", len(filter))
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	given := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	thread, _, failure := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&given)))
	runtime.KeepAlive(filter)
	if failure != 0 {
		return failure
	}
	if thread != 0 {
		return fmt.Errorf("thread %d can't be filtered", thread)
	}
	return nil
}
