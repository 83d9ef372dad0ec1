//go:build linux

package hostile

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// namespaces are the flags of clone that make any.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// lastCall is the highest number that a profile of today has heard of.
const lastCall = unix.SYS_MSEAL

// forbidden are the calls that containerd's default profile does not allow a container
// without capabilities, by names that all architectures have.
var forbidden = []uint32{
	// Of the whole machine.
	unix.SYS_ACCT, unix.SYS_CLOCK_ADJTIME, unix.SYS_CLOCK_SETTIME, unix.SYS_SETTIMEOFDAY, unix.SYS_REBOOT, unix.SYS_SETHOSTNAME,
	unix.SYS_SETDOMAINNAME, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE,
	// Of the kernel.
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_BPF,
	unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	// Of namespaces and mounts.
	unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOUNT_SETATTR,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	// Of other processes, and of where memory is.
	unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_GET_MEMPOLICY, unix.SYS_SET_MEMPOLICY, unix.SYS_SET_MEMPOLICY_HOME_NODE, unix.SYS_MBIND, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
}

func statement(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

// fetch takes four bytes of seccomp_data, which begins with the number of the call, and
// has the arguments from the sixteenth byte on.
func fetch(offset uint32) unix.SockFilter {
	return statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset)
}

func answer(failure syscall.Errno) unix.SockFilter {
	if failure == 0 {
		return statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW)
	}
	return statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(failure))
}

// when goes on with the next instruction if the value at hand is k, and skips as many as that otherwise.
func when(k uint32, skip uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: skip}
}

// profile is the filter. It knows no other architecture's numbers.
func profile() []unix.SockFilter {
	p := []unix.SockFilter{fetch(0), {Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: lastCall, Jf: 1}, answer(unix.ENOSYS)}
	for _, number := range slices.Concat(forbidden, forbiddenHere) {
		p = append(p, when(number, 1), answer(unix.EPERM))
	}
	return append(p,
		when(unix.SYS_CLONE3, 1), answer(unix.ENOSYS),
		when(unix.SYS_CLONE, 4), fetch(16), unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: namespaces, Jf: 1}, answer(unix.EPERM), answer(0),
		when(unix.SYS_SOCKET, 4), fetch(16), when(unix.AF_VSOCK, 1), answer(unix.EPERM), answer(0),
		when(unix.SYS_PERSONALITY, 4), fetch(16), when(0, 1), answer(0), answer(unix.EPERM),
		answer(0),
	)
}

// applyProfile puts the filter on this thread.
func applyProfile() error {
	filter := profile()
	given := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, failure := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&given)))
	runtime.KeepAlive(filter)
	if failure != 0 {
		return fmt.Errorf("the profile: %w", failure)
	}
	return nil
}
