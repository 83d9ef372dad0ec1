//go:build linux

package hostile

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// errNothing is what a probe gives that found nothing, and was not refused it.
var errNothing = errors.New("there is nothing")

// probes must all fail, because they are not permitted. So must hostProbes.
var probes = map[string]func(canary) error{
	"read a file":              func(c canary) error { return reads(c.file) },
	"list the root":            func(canary) error { return second(os.ReadDir("/")) },
	"look at a file":           func(c canary) error { return second(os.Stat(c.file)) },
	"write a file":             func(canary) error { return os.WriteFile(filepath.Join(os.TempDir(), "hostile"), []byte("x"), 0o600) },
	"make a folder":            func(canary) error { return os.Mkdir(filepath.Join(os.TempDir(), "hostile"), 0o700) },
	"link":                     func(c canary) error { return os.Symlink(c.file, filepath.Join(os.TempDir(), "hostile")) },
	"remove":                   func(c canary) error { return os.Remove(c.file) },
	"own environment":          func(canary) error { return found(os.Getenv(variableName) != "") },
	"inherited descriptors":    inherited,
	"run a program":            func(canary) error { return exec.Command("/proc/self/exe").Run() },
	"become a program":         func(canary) error { return syscall.Exec("/proc/self/exe", []string{"x"}, nil) },
	"a program in memory":      func(canary) error { return second(unix.MemfdCreate("x", 0)) },
	"fork":                     func(canary) error { return forks() },
	"fork by clone3":           func(canary) error { return call(unix.SYS_CLONE3, 0, 0, 0) },
	"connect":                  func(c canary) error { return dials("tcp", c.tcp) },
	"send":                     func(c canary) error { return dials("udp", c.udp) },
	"look a name up":           func(canary) error { return looksUp("example.invalid") },
	"listen":                   func(canary) error { return second(net.Listen("tcp", "127.0.0.1:0")) },
	"raw socket":               func(canary) error { return second(unix.Socket(unix.AF_INET, unix.SOCK_RAW, 1)) },
	"netlink":                  func(canary) error { return second(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)) },
	"vsock":                    func(canary) error { return second(unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)) },
	"a pair of sockets":        func(canary) error { return second(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)) },
	"a user namespace":         func(canary) error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"enter a namespace":        func(canary) error { return unix.Setns(0, 0) },
	"mount":                    func(canary) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
	"another root":             func(canary) error { return unix.Chroot("/") },
	"another folder":           func(canary) error { return unix.Chdir("/") },
	"another user":             func(canary) error { return call(unix.SYS_SETUID, 0, 0, 0) },
	"capabilities":             func(canary) error { return call(unix.SYS_CAPSET, 0, 0, 0) },
	"be dumpable again":        func(canary) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) },
	"another filter":           func(canary) error { return call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0) },
	"keys":                     func(canary) error { return call(unix.SYS_KEYCTL, 0, 0, 0) },
	"bpf":                      func(canary) error { return call(unix.SYS_BPF, 0, 0, 0) },
	"perf":                     func(canary) error { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) },
	"io_uring":                 func(canary) error { return call(unix.SYS_IO_URING_SETUP, 1, 0, 0) },
	"userfaultfd":              func(canary) error { return call(unix.SYS_USERFAULTFD, 0, 0, 0) },
	"inotify":                  func(canary) error { return second(unix.InotifyInit1(0)) },
	"shared memory":            func(canary) error { return call(unix.SYS_SHMGET, 0, 1, 0o600) },
	"semaphores":               func(canary) error { return call(unix.SYS_SEMGET, 0, 1, 0o600) },
	"message queues":           func(canary) error { return call(unix.SYS_MSGGET, 0, 0o600, 0) },
	"other processors":         func(canary) error { return call(unix.SYS_SCHED_SETAFFINITY, 0, 0, 0) },
	"real time":                func(canary) error { return call(unix.SYS_SCHED_SETSCHEDULER, 0, 0, 0) },
	"a namespace for a thread": func(canary) error { return call(unix.SYS_CLONE, unix.CLONE_THREAD|unix.CLONE_NEWUTS, 0, 0) },
	"shared pages":             func(canary) error { return mapsPage(unix.MAP_SHARED) },
	"validated shared pages":   func(canary) error { return mapsPage(unix.MAP_SHARED_VALIDATE) },
	"a stack of one's own":     func(canary) error { return mapsPage(unix.MAP_PRIVATE | unix.MAP_GROWSDOWN) },
	"huge pages":               func(canary) error { return mapsPage(unix.MAP_PRIVATE | unix.MAP_HUGETLB) },
	"memory that doesn't count": func(canary) error {
		return freezes()
	},
	"a larger pipe":          func(canary) error { return second(unix.FcntlInt(1, unix.F_SETPIPE_SZ, 1<<20)) },
	"another descriptor":     func(canary) error { return second(unix.FcntlInt(1, unix.F_DUPFD, 0)) },
	"a lease":                func(canary) error { return second(unix.FcntlInt(0, unix.F_SETLEASE, unix.F_RDLCK)) },
	"notes of a folder":      func(canary) error { return second(unix.FcntlInt(0, unix.F_NOTIFY, 4)) },
	"terminals":              func(canary) error { return call(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0) },
	"leave the group":        func(canary) error { return call(unix.SYS_SETSID, 0, 0, 0) },
	"a call of another kind": func(canary) error { return call(unix.SYS_SOCKET|1<<30, unix.AF_INET, unix.SOCK_STREAM, 0) },
	"a call from the future": func(canary) error { return call(5000, 0, 0, 0) },
}

func second[T any](_ T, err error) error { return err }

func found(it bool) error {
	if it {
		return nil
	}
	return errNothing
}

func reads(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return second(file.Read(make([]byte, 1)))
}

func dials(network, address string) error {
	connection, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer connection.Close()
	return second(connection.Write([]byte("x")))
}

// looksUp does not ask libc, which has other words for what it is refused.
func looksUp(host string) error {
	return second((&net.Resolver{PreferGo: true}).LookupHost(context.Background(), host))
}

func call(number, a, b, c uintptr) error {
	if _, _, failure := unix.RawSyscall(number, a, b, c); failure != 0 {
		return failure
	}
	return nil
}

// forks ends the other process at once if there comes to be one.
func forks() error {
	pid, _, failure := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if failure != 0 {
		return failure
	}
	if pid == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return nil
}

// mapsPage maps a page of memory.
func mapsPage(flags int) error {
	return second(unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, flags|unix.MAP_ANON))
}

// freezes makes memory that was filled read-only, so that the limit on memory does not count it.
func freezes() error {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("private memory: %s", err.Error()[:1]) // No refusal of what is probed.
	}
	return unix.Mprotect(page, unix.PROT_READ)
}

// inherited looks for the canary in what the host has open and did not close on exec.
func inherited(canary) error {
	buf := make([]byte, len(fileSecret))
	for fd := 3; fd < 64; fd++ {
		if isFile(fd) && second(unix.Read(fd, buf)) == nil && string(buf) == fileSecret {
			return nil
		}
	}
	return errNothing
}

// isFile reports whether to read from the descriptor does not wait.
func isFile(fd int) bool {
	var stat unix.Stat_t
	return unix.Fstat(fd, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG
}
