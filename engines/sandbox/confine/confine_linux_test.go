package confine_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

const (
	withSeccomp    = "confine"
	withoutSeccomp = "confine without seccomp"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == withSeccomp || os.Args[1] == withoutSeccomp) {
		report(os.Args[2:])
	}
	os.Exit(m.Run())
}

// found is what a confined process reports.
type found struct {
	Report confine.Report
	Tried  map[string]string
}

// report confines this process, tries what it is asked to try, and exits.
func report(addresses []string) {
	c := confine.Apply(os.Args[1] == withSeccomp)
	f := found{Report: c.Report, Tried: map[string]string{}}
	for name, err := range map[string]error{
		"read":    reads("/etc/hostname"),
		"list":    lists("/proc/self/task"),
		"write":   os.WriteFile(filepath.Join(os.TempDir(), "confined"), nil, 0o600),
		"exec":    exec.Command("/proc/self/exe").Run(),
		"connect": dials("tcp", addresses[0]),
		"send":    dials("udp", addresses[1]),
		"signal":  syscall.Kill(os.Getppid(), 0),
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

func dials(network, address string) error {
	connection, err := net.Dial(network, address)
	if err == nil {
		_, err = connection.Write([]byte("x"))
	}
	return err
}

// confined runs this binary confined, as that user, and returns what it found.
func confined(t *testing.T, how string, as *syscall.Credential) found {
	t.Helper()
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
	c := exec.Command("/proc/self/exe", how, tcp.Addr().String(), udp.LocalAddr().String())
	c.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
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
			f := confined(t, withSeccomp, user)
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
			for _, what := range []string{"read", "list", "write", "exec", "connect", "send", "signal"} {
				if f.Tried[what] == "" {
					t.Errorf("it can still %s", what)
				}
			}
			if why := f.Tried["budget"]; why != "" {
				t.Errorf("its memory can't be bounded: %s", why)
			}
		})
	}
}

// TestLandlockAlone turns seccomp off. What is possible then depends on the kernel.
func TestLandlockAlone(t *testing.T) {
	f := confined(t, withoutSeccomp, nil)
	if diff := cmp.Diff("turned off", f.Report[confine.Seccomp]); diff != "" {
		t.Errorf("seccomp (-want +got):\n%s", diff)
	}
	if why := f.Report[confine.Landlock]; why != "" {
		t.Skipf("no Landlock: %s", why)
	}
	for _, what := range []string{"read", "write", "exec"} {
		if !strings.Contains(f.Tried[what], "permission denied") {
			t.Errorf("%s: %q, want permission denied", what, f.Tried[what])
		}
	}
}
