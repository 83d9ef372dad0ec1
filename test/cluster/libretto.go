package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/libretto-k8s/libretto/test/procfs"
)

// Libretto is a running bin/libretto serve.
type Libretto struct {
	program *Program
	output  *output
}

// StartLibretto starts bin/libretto serve on the cluster, with flags of the caller's, and returns when it has found the
// definitions that there are, or when ctx ends. The caller has to call Stop or Kill. On Linux it also ends with this process.
func (c *Cluster) StartLibretto(ctx context.Context, flags ...string) (*Libretto, error) {
	binary, err := Binary("libretto")
	if err != nil {
		return nil, err
	}
	args := append([]string{
		"serve", "--kubeconfig", c.Kubeconfig, "--logging-format=console",
		"--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0",
	}, flags...)
	if runtime.GOOS != "linux" { // Nothing confines scripts there, and here they are the test's own.
		args = append(args, "--require-confinement=none")
	}
	args = append(args, shardFlags(flags)...)
	l := &Libretto{output: &output{}}
	command := exec.Command(binary, args...)
	command.Stderr = l.output
	if l.program, err = StartProgram(command); err != nil {
		return nil, fmt.Errorf("libretto: %w", err)
	}
	if err := l.waitUntilReady(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("libretto: %w\n%s", err, l.Log()), l.Kill())
	}
	return l, nil
}

// shardsVariable has all hosts of tests, but those with flags of their own for that, divide their work into so many shards.
const shardsVariable = "LIBRETTO_TEST_SHARDS"

// shardFlags returns the flags for that, for a host that shares with no other one.
func shardFlags(own []string) []string {
	shards := os.Getenv(shardsVariable)
	if shards == "" || slices.Contains(own, "--leader-elect") {
		return nil
	}
	return []string{"--leader-elect", "--shards=" + shards, "--leader-elect-resource-name=" + string(uuid.NewUUID())}
}

func (l *Libretto) waitUntilReady(ctx context.Context) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if address := l.address("probes"); address != "" && answers(ctx, "http://"+address+"/readyz") {
			return nil
		}
		select {
		case <-l.program.done:
			return fmt.Errorf("did not start: %w", l.program.err)
		case <-ctx.Done():
			return fmt.Errorf("not ready in time: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// Stop asks the process to end, and returns when it has. Its exit status must be 0.
func (l *Libretto) Stop() error {
	if err := l.program.Stop(); err != nil {
		return fmt.Errorf("libretto: %w\n%s", err, l.Log())
	}
	return nil
}

// Kill ends the process at once, as kill -9 does.
func (l *Libretto) Kill() error {
	if err := l.program.Kill(); err != nil {
		return fmt.Errorf("libretto: %w", err)
	}
	return nil
}

// Signal sends the process a signal, but none to its workers.
func (l *Libretto) Signal(signal os.Signal) error { return l.program.command.Process.Signal(signal) }

// PID returns the number of the process.
func (l *Libretto) PID() int { return l.program.PID() }

// Ended reports whether the process is gone.
func (l *Libretto) Ended() bool { return l.program.Ended() }

// Done is closed when the process is gone.
func (l *Libretto) Done() <-chan struct{} { return l.program.done }

// Log is what the process has logged so far.
func (l *Libretto) Log() string { return l.output.String() }

// Metrics reads the process's metrics.
func (l *Libretto) Metrics(ctx context.Context) (Metrics, error) {
	text, err := l.MetricsText(ctx)
	if err != nil {
		return nil, err
	}
	return ParseMetrics(bytes.NewReader(text))
}

// MetricsText returns the process's metrics in Prometheus' text format.
func (l *Libretto) MetricsText(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.address("metrics")+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("libretto's metrics: %w", err)
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// PeakMemory is the most memory that the process has had resident, in bytes, without that of its workers.
func (l *Libretto) PeakMemory() (int64, error) {
	memory, err := procfs.ReadMemory(l.PID())
	return memory.Peak, err
}

// address is where the process says that it listens for something, or "".
func (l *Libretto) address(what string) string {
	found := regexp.MustCompile(`listening\s.*"for": "` + what + `", "address": "([^"]+)"`).FindStringSubmatch(l.Log())
	if found == nil {
		return ""
	}
	return found[1]
}

// output collects what a process writes, and can be read meanwhile.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
