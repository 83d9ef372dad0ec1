package diff

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

const largeScript = `
export function sync(request) {
  const name = request.parent.metadata.name;
  return {children: Array.from({length: 10}, (_, i) => ({
    apiVersion: "v1", kind: "ConfigMap", metadata: {name: name + "-" + i, labels: {app: name}}, data: {text: "one ".repeat(50)},
  }))};
}`

// TestLarge measures the command with $LIBRETTO_DIFF_PARENTS parents of ten children each, such as 1000.
func TestLarge(t *testing.T) {
	number, err := strconv.Atoi(os.Getenv("LIBRETTO_DIFF_PARENTS"))
	if err != nil {
		t.Skip("set LIBRETTO_DIFF_PARENTS to a number, such as 1000")
	}
	e := env.NewRunning(t, "-v=0")
	s := &scene{Env: e}
	e.Apply(s.hooks(largeScript))
	s.name = e.DefineReady(env.Composite, "", "generateSelector: true", e.Parent("things", ""), env.UpdatedChildren,
		fmt.Sprintf("scriptSources: [{configMap: {namespace: %s, name: hooks}}]", e.Namespace),
		"hooks: {sync: {version: v2, script: {path: sync.js}}}")
	for i := range number {
		e.ApplyThing(fmt.Sprintf("thing-%d", i), "", "")
	}
	cluster.Eventually(t, 10*time.Minute, func() error {
		if n := len(e.List(env.ConfigMaps, "app")); n != 10*number {
			return fmt.Errorf("%d children", n)
		}
		return nil
	})
	for name, text := range map[string]string{
		"the same": largeScript, "a field": strings.Replace(largeScript, "one ", "two ", 1), "no children": strings.Replace(largeScript, "length: 10", "length: 0", 1),
	} {
		took, state, peak, summary := s.measure(text)
		t.Logf("%s: %s; %s of user and %s of system time, with workers; %d MiB at the most\n%s",
			name, took.Round(time.Millisecond), state.UserTime().Round(time.Millisecond), state.SystemTime().Round(time.Millisecond), peak>>10, summary)
		if peak>>10 > 200 {
			t.Errorf("%s: %d MiB, want at most 200", name, peak>>10)
		}
	}
}

// measure runs the command, and returns how long it took, what it used, how many KiB it had at the most, without workers, and its last line.
func (s *scene) measure(text string) (took time.Duration, state *os.ProcessState, peak int, summary string) {
	s.T.Helper()
	program, err := cluster.Binary("libretto")
	s.NoError(err)
	command := exec.CommandContext(s.T.Context(), program, "diff", "--kubeconfig", s.Cluster.Kubeconfig, "-n", s.Namespace, "-f", "-")
	command.Stdin = strings.NewReader(s.hooks(text))
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, os.Stderr
	began, ended := time.Now(), make(chan error, 1)
	s.NoError(command.Start())
	go func() { ended <- command.Wait() }()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				s.NoError(err)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			return time.Since(began), command.ProcessState, peak, lines[len(lines)-1]
		case <-look.C:
			// What wait returns as the peak includes that of the process that started it.
			peak = max(peak, peakMemory(command.Process.Pid))
		}
	}
}

// peakMemory returns the most memory that a process has had, in KiB, or 0 if it has ended.
func peakMemory(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(line, &kib); err != nil {
		return 0
	}
	return kib
}
