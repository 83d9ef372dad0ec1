package confine_test

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

// confineArgument is the first argument of a process that confines itself. The next one is its options.
const confineArgument = "confine"

const budget = 256 << 20

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == confineArgument {
		report(os.Args[2], os.Args[3:])
	}
	os.Exit(m.Run())
}

// found is what a confined process reports.
type found struct {
	Report confine.Report
	Tried  map[string]string
}

// report confines this process, tries what must fail at these addresses, and exits.
func report(encoded string, addresses []string) {
	var options confine.Options
	if err := json.Unmarshal([]byte(encoded), &options); err != nil {
		panic(err)
	}
	parent := os.Getppid() // Later that is not permitted.
	c := confine.Apply(options)
	f := found{Report: c.Report, Tried: map[string]string{}}
	for name, err := range map[string]error{
		"read":    reads("/etc/hostname"),
		"list":    lists("/proc/self/task"),
		"write":   os.WriteFile(filepath.Join(os.TempDir(), "confined"), nil, 0o600),
		"exec":    exec.Command("/proc/self/exe").Run(),
		"make":    makes(filepath.Join(os.TempDir(), "confined-"+strconv.Itoa(os.Getpid()))),
		"pipe":    unix.Pipe2(make([]int, 2), unix.O_CLOEXEC),
		"connect": dials("tcp", addresses[0]),
		"send":    dials("udp", addresses[1]),
		"signal":  syscall.Kill(parent, 0),
		"stop":    stops(),
		"preempt": unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGURG),
		"owner":   second(unix.FcntlInt(2, unix.F_SETOWN, parent)),
		"SIGKILL": second(unix.FcntlInt(2, unix.F_SETSIG, int(unix.SIGKILL))),
		"O_ASYNC": second(unix.FcntlInt(2, unix.F_SETFL, unix.O_ASYNC)),
		"share":   maps(unix.MAP_SHARED),
		"stack":   maps(unix.MAP_PRIVATE | unix.MAP_GROWSDOWN),
		"freeze":  freezes(),
		"raise":   unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: 1 << 40, Max: 1 << 40}),
		"exceed":  exceeds(),
		"budget":  c.Budget(64 << 20),
	} {
		if err != nil {
			f.Tried[name] = err.Error()
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(f) // The test fails without output.
	os.Exit(0)
}

func reads(path string) error {
	_, err := os.ReadFile(path)
	return err
}

func lists(path string) error {
	_, err := os.ReadDir(path)
	return err
}

// makes makes a folder, for which no descriptor is needed, and removes it.
func makes(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return os.Remove(path)
}

// stops returns why this process can't stop itself. It asks for a thread that there is not, so that it goes on if it can.
func stops() error {
	const noThread = 1<<22 + 1
	for _, signal := range []syscall.Signal{unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU} {
		for _, err := range []error{
			unix.Kill(noThread, signal), unix.Tgkill(os.Getpid(), noThread, signal),
			sends(unix.SYS_TKILL, noThread, uintptr(signal)), sends(unix.SYS_RT_SIGQUEUEINFO, noThread, uintptr(signal)),
		} {
			if err != unix.EPERM {
				return nil
			}
		}
	}
	return unix.EPERM
}

func sends(number, to, signal uintptr) error {
	var info unix.Siginfo
	_, _, errno := unix.Syscall(number, to, signal, uintptr(unsafe.Pointer(&info)))
	return errno
}

func second[T any](_ T, err error) error { return err }

// maps maps a page of memory.
func maps(flags int) error {
	_, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, flags|unix.MAP_ANON)
	return err
}

// freezes makes memory read-only, which the memory limit would not count any more.
func freezes() error {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil // Not what is asked.
	}
	return unix.Mprotect(page, unix.PROT_READ)
}

// exceeds maps more memory than the largest budget allows.
func exceeds() error {
	_, err := unix.Mmap(-1, 0, budget+1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	return err
}

func dials(network, address string) error {
	connection, err := net.Dial(network, address)
	if err == nil {
		_, err = connection.Write([]byte("x"))
	}
	return err
}

// confined runs this binary confined, as that user, and returns what it found.
func confined(t *testing.T, options confine.Options, as *syscall.Credential) found {
	t.Helper()
	options.MaxBudget = budget
	encoded, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	c := exec.Command("/proc/self/exe", confineArgument, string(encoded), tcp.Addr().String(), udp.LocalAddr().String())
	c.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	out, err := c.Output() // Its standard error must not be ours: it has this process killed once something is written there.
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			t.Logf("the confined process wrote: %s", exit.Stderr)
		}
		t.Fatalf("the confined process: %v", err)
	}
	var f found
	if err := json.Unmarshal(out, &f); err != nil {
		t.Fatalf("it said %q: %v", out, err)
	}
	return f
}

// TestApply confines a process of the current user and, if that is root, of a user without any rights,
// as in a cluster.
func TestApply(t *testing.T) {
	users := map[string]*syscall.Credential{"self": nil}
	if os.Getuid() == 0 {
		users["nobody"] = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for name, user := range users {
		t.Run(name, func(t *testing.T) {
			f := confined(t, confine.Options{}, user)
			for _, measure := range confine.Measures() {
				if why, tried := f.Report[measure]; !tried {
					t.Errorf("%s was not tried", measure)
				} else if why != "" {
					t.Logf("%s is not in force: %s", measure, why)
				}
			}
			if f.Report[confine.Seccomp] != "" {
				t.Skip("there is nothing to try without seccomp here")
			}
			for _, what := range []string{
				"read", "list", "write", "make", "pipe", "exec", "connect", "send", "signal", "stop", "owner", "SIGKILL", "O_ASYNC",
				"share", "stack", "freeze", "raise", "exceed",
			} {
				if what == "raise" && user == nil && os.Getuid() == 0 {
					continue // With CAP_SYS_RESOURCE that is permitted.
				}
				if f.Tried[what] == "" {
					t.Errorf("it can still %s", what)
				}
			}
			if why := f.Tried["budget"]; why != "" {
				t.Errorf("its memory can't be bounded: %s", why)
			}
			if why := f.Tried["preempt"]; why != "" {
				t.Errorf("the runtime can't preempt goroutines: %s", why)
			}
		})
	}
}

// TestLandlockAlone turns seccomp off. What is possible then depends on the kernel.
func TestLandlockAlone(t *testing.T) {
	f := confined(t, confine.Options{WithoutSeccomp: true}, nil)
	if diff := cmp.Diff("turned off", f.Report[confine.Seccomp]); diff != "" {
		t.Errorf("seccomp (-want +got):\n%s", diff)
	}
	if why := f.Report[confine.Landlock]; why != "" {
		t.Skipf("no Landlock: %s", why)
	}
	if !strings.Contains(f.Tried["make"], "permission denied") { // What needs a descriptor is refused by another measure before.
		t.Errorf("making a folder: %q, want permission denied", f.Tried["make"])
	}
}

// TestDescriptorsAlone turns Landlock and seccomp off, as on a kernel without them. No file, socket or pipe can be opened.
func TestDescriptorsAlone(t *testing.T) {
	users := map[string]*syscall.Credential{"self": nil}
	if os.Getuid() == 0 {
		users["nobody"] = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for name, user := range users {
		t.Run(name, func(t *testing.T) {
			f := confined(t, confine.Options{WithoutSeccomp: true, LandlockABI: -1}, user)
			for _, measure := range []string{confine.Landlock, confine.Seccomp} {
				if got := f.Report[measure]; got != "turned off" {
					t.Errorf("%s: %q, want that it is turned off", measure, got)
				}
			}
			if why := f.Report[confine.Rlimits]; why != "" {
				t.Errorf("limits: %s", why)
			}
			for _, what := range []string{"read", "list", "write", "pipe", "exec", "connect", "send"} {
				if !strings.Contains(f.Tried[what], "too many open files") {
					t.Errorf("%s: %q, want that no descriptor is left", what, f.Tried[what])
				}
			}
			if len(confine.RequireAny.Unmet(f.Report)) == 0 {
				t.Errorf("that is not what --require-confinement=any refuses: %v", f.Report)
			}
		})
	}
}

// TestLandlockOfOlderKernels caps the version of Landlock. Without seccomp the parent can be signaled
// exactly if the report says that signals are not kept to the process.
func TestLandlockOfOlderKernels(t *testing.T) {
	if why := confined(t, confine.Options{WithoutSeccomp: true}, nil).Report[confine.Landlock]; why != "" {
		t.Skipf("Landlock here: %s", why)
	}
	for _, abi := range []int{1, 3, 4, 5, 6, 7, 100} {
		f := confined(t, confine.Options{WithoutSeccomp: true, LandlockABI: abi}, nil)
		want := confine.Full
		if abi < 6 {
			want = confine.Partial
		}
		if state, why := confine.StateOf(f.Report[confine.Landlock]); state != want {
			t.Errorf("version %d: it is in force: %s %s, want %s", abi, state, why, want)
		}
		if signaled := f.Tried["signal"] == ""; signaled != (want == confine.Partial) {
			t.Errorf("version %d: signaling the parent: %q, and it reports %q", abi, f.Tried["signal"], f.Report[confine.Landlock])
		}
		if f.Tried["make"] == "" {
			t.Errorf("version %d: it can still make a folder", abi)
		}
	}
}
