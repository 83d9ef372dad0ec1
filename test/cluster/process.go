package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// stopTimeout is how long a control plane may take to stop. It takes a few hundredths of a second.
const stopTimeout = 30 * time.Second

// process is a control plane that was started here. The open end of its standard input is what keeps it alive.
type process struct {
	command *exec.Cmd
	stdin   io.Closer
	stderr  *bytes.Buffer // may be read once done is closed
	done    chan struct{}
	err     error // how it ended; may be read once done is closed
}

// startProcess starts the command and returns the kubeconfig that it announces.
func startProcess(ctx context.Context, command *exec.Cmd) (*process, string, error) {
	p := &process{command: command, stderr: &bytes.Buffer{}, done: make(chan struct{})}
	command.Stderr = p.stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, "", err
	}
	p.stdin = stdin
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := command.Start(); err != nil {
		return nil, "", err
	}
	announced := make(chan string, 1)
	go p.follow(stdout, announced)
	select {
	case kubeconfig := <-announced:
		return p, kubeconfig, nil
	case <-p.done:
		return nil, "", fmt.Errorf("did not start: %w", p.failure())
	case <-ctx.Done():
		return nil, "", errors.Join(fmt.Errorf("not ready in time: %w", ctx.Err()), p.stop())
	}
}

// follow reads the process' output to its end, passes the kubeconfig on, and notes how the process ended.
func (p *process) follow(stdout io.Reader, announced chan<- string) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if path, ok := strings.CutPrefix(lines.Text(), "KUBECONFIG="); ok {
			announced <- path
		}
	}
	p.err = p.command.Wait()
	close(p.done)
}

// stop ends the process and waits for it.
func (p *process) stop() error {
	select {
	case <-p.done:
		return fmt.Errorf("ended before it was stopped: %w", p.failure())
	default:
	}
	if err := p.stdin.Close(); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	select {
	case <-p.done:
		// How it ended does not matter: its parts work until then, and etcd fails if it writes after its files were removed.
		return nil
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("still there %s after the signal to stop", stopTimeout), p.command.Process.Kill())
	}
}

// failure is why a process ended that should not have.
func (p *process) failure() error {
	cause := p.err
	if cause == nil {
		cause = errors.New("exit status 0")
	}
	if message := strings.TrimSpace(p.stderr.String()); message != "" {
		return fmt.Errorf("%w: %s", cause, message)
	}
	return cause
}
