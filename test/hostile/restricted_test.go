//go:build linux

package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRestricted runs the tests below as they would run in a restricted pod: as nobody,
// without capabilities, with a read-only root, and under a profile of system calls.
func TestRestricted(t *testing.T) {
	if os.Getenv(stageVariable) != "" {
		t.Skip("this is such a process")
	}
	var refusals error
	for _, how := range containers(t) {
		out, err := how.run(t)
		t.Logf("%s:\n%s", how.about, summary(out))
		var ended *exec.ExitError
		if err == nil && bytes.Contains(out, []byte("--- PASS: TestContained")) {
			return
		}
		if errors.As(err, &ended) && ended.ExitCode() != notEntered || err == nil {
			t.Fatalf("error %v:\n%s", err, out)
		}
		refusals = errors.Join(refusals, fmt.Errorf("%s: %w", how.about, err))
	}
	t.Skipf("this system lets nobody make a container here: %v", refusals)
}

// container is a way to make one.
type container struct {
	about string
	root  string
	attr  *syscall.SysProcAttr
}

// containers are the ways there are for this user, the closest to a pod first.
func containers(t *testing.T) []container {
	const apart = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	if os.Getuid() == 0 {
		return []container{
			{"as nobody, with a read-only root", t.TempDir(), &syscall.SysProcAttr{Cloneflags: apart}},
			{"as nobody, with the root of everybody", "", nil},
		}
	}
	mine := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: nobody, HostID: id, Size: 1}}
	}
	return []container{{"as nobody in a user namespace, with a read-only root", t.TempDir(), &syscall.SysProcAttr{
		Cloneflags: apart | syscall.CLONE_NEWUSER, UidMappings: mine(os.Getuid()), GidMappings: mine(os.Getgid()),
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_SETPCAP},
	}}}
}

func (c container) run(t *testing.T) ([]byte, error) {
	command := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.run=^(TestContained|TestProbes|TestInside)$")
	command.Env = []string{stageVariable + "=" + stageEnter, rootVariable + "=" + c.root, lengthVariable + "=" + os.Getenv(lengthVariable)}
	command.SysProcAttr = c.attr
	return command.CombinedOutput()
}

// summary are the lines that say how it went.
func summary(out []byte) string {
	var kept strings.Builder
	for line := range strings.Lines(string(out)) {
		for _, part := range []string{"hostile:", "in force:", "attacks;", "the host keeps", "inside:", "--- FAIL", "--- SKIP"} {
			if strings.Contains(line, part) {
				kept.WriteString(line)
				break
			}
		}
	}
	return kept.String()
}

// TestInside checks that the container is one.
func TestInside(t *testing.T) {
	if os.Getenv(stageVariable) != stageInside {
		t.Skip("this is no container")
	}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Uid:\t65534\t65534", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("its status lacks %q:\n%s", want, text)
		}
	}
	if err := call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("a new user namespace: %v, want %v", err, unix.EPERM)
	}
	err = os.WriteFile("/written", nil, 0o600)
	if isolated := os.Getenv(canaryVariable) != ""; err == nil || isolated && !errors.Is(err, unix.EROFS) {
		t.Errorf("writing to the root: %v", err)
	}
	t.Logf("inside: user %d, process %d, writing to the root: %v", os.Getuid(), os.Getpid(), err)
}
