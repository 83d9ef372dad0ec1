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

// Offsets of the fields of seccomp_data on little-endian machines. Each argument has argumentBytes, of
// which the lower half is looked at: the checked arguments have 32 bits, or no meaning beyond them.
const (
	offsetNumber   = 0
	offsetArch     = 4
	offsetArgument = 16
	argumentBytes  = 8
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
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_CLOSE, unix.SYS_FSTAT,
	unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_BRK, unix.SYS_MINCORE,
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

func loadArgument(n uint32) unix.SockFilter { return loadField(offsetArgument + n*argumentBytes) }

// skipUnlessAny skips the next instruction unless the loaded value has one of these bits.
func skipUnlessAny(bits uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: bits, Jf: 1}
}

// rule decides about one call with these instructions, all of whose ends return.
func rule(number uint32, decide ...unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{skipUnlessEqual(number, uint8(len(decide)))}, decide...)
}

// filterProgram returns the filter: an allow-list, and calls whose arguments are checked.
func filterProgram() []unix.SockFilter {
	p := []unix.SockFilter{
		loadField(offsetArch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: auditArch, Jt: 1},
		ret(retEPERM), // Call numbers of another architecture mean other calls.
		loadField(offsetNumber),
	}
	for _, number := range slices.Concat(allowedCalls, archCalls) {
		p = append(p, rule(number, ret(retAllow))...)
	}
	p = append(p, rule(unix.SYS_CLONE3, ret(retENOSYS))...)
	for _, r := range [][]unix.SockFilter{
		allowThreads(), allowEqual(unix.SYS_PRLIMIT64, 0, 0), allowPreemption(),
		allowEqual(unix.SYS_FCNTL, 1, descriptorCommands...), allowPrivateMemory(), allowWritable(),
	} {
		p = append(p, r...)
	}
	return append(p, ret(retEPERM))
}

// descriptorCommands are the commands of fcntl that package os needs for the standard streams. Others
// could have the kernel send a signal, SIGKILL too, to a process of the same user: F_SETOWN, F_SETSIG and
// F_SETFL with O_ASYNC.
var descriptorCommands = []uint32{unix.F_GETFD, unix.F_SETFD, unix.F_GETFL}

// allowEqual allows a call whose argument with that index is one of these values. The first argument of
// prlimit64 is a process, for which zero means the caller.
func allowEqual(number, argument uint32, values ...uint32) []unix.SockFilter {
	decide := []unix.SockFilter{loadArgument(argument)}
	for _, value := range values {
		decide = append(decide, skipUnlessEqual(value, 1), ret(retAllow))
	}
	return rule(number, append(decide, ret(retEPERM))...)
}

// allowPreemption allows tgkill for the signal that the Go runtime sends to its own threads. With others, such as
// SIGSTOP, a worker could keep its slot without using up its time.
func allowPreemption() []unix.SockFilter {
	return rule(unix.SYS_TGKILL,
		loadArgument(0),
		skipUnlessEqual(uint32(unix.Getpid()), 3),
		loadArgument(2),
		skipUnlessEqual(uint32(unix.SIGURG), 1), ret(retAllow),
		ret(retEPERM),
	)
}

// allowThreads allows clone for threads of this process in its own namespaces.
func allowThreads() []unix.SockFilter {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP
	return rule(unix.SYS_CLONE,
		loadArgument(0),
		skipUnlessAny(namespaces), ret(retEPERM),
		skipUnlessAny(unix.CLONE_THREAD), ret(retAllow),
		ret(retEPERM),
	)
}

// allowPrivateMemory allows mmap of private memory. The memory limit does not count what is shared, nor
// what grows downwards, nor huge pages.
func allowPrivateMemory() []unix.SockFilter {
	return rule(unix.SYS_MMAP,
		loadArgument(3),
		skipUnlessAny(unix.MAP_GROWSDOWN|unix.MAP_HUGETLB), ret(retEPERM),
		statement(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, unix.MAP_TYPE),
		skipUnlessEqual(unix.MAP_PRIVATE, 1), ret(retAllow),
		ret(retEPERM),
	)
}

// allowWritable allows mprotect to make memory writable. The memory limit counts writable memory: what
// was filled and then made read-only would not count any more.
func allowWritable() []unix.SockFilter {
	return rule(unix.SYS_MPROTECT,
		loadArgument(2),
		skipUnlessAny(unix.PROT_WRITE), ret(retAllow),
		ret(retEPERM),
	)
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
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	if thread != 0 {
		return fmt.Errorf("thread %d can't be filtered", thread)
	}
	return nil
}
