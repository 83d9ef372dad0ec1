package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Program is a running process. On Linux it ends with this one.
type Program struct {
	command *exec.Cmd
	done    chan struct{}
	err     error // how it ended; may be read once done is closed
}

// StartProgram starts a command. The caller has to call Stop or Kill.
func StartProgram(command *exec.Cmd) (*Program, error) {
	p := &Program{command: command, done: make(chan struct{})}
	command.SysProcAttr = endWithParent()
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the process and waits for its end, both on one thread of its own: that a child ends with its parent
// means, to Linux, with the thread that started it.
func (p *Program) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	err := p.command.Start()
	started <- err
	if err == nil {
		p.err = p.command.Wait()
	}
}

// PID returns the number of the process.
func (p *Program) PID() int { return p.command.Process.Pid }

// Stop asks the process to end, and returns when it has. Its exit status must be 0.
func (p *Program) Stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return p.err
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("still there %s after SIGTERM", stopTimeout), p.Kill())
	}
}

// Kill ends the process at once, as kill -9 does.
func (p *Program) Kill() error {
	if err := p.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// Ended reports whether the process is gone.
func (p *Program) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
