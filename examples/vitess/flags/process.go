package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	poll         = 100 * time.Millisecond
	readyLimit   = 2 * time.Minute // A vtgate waits for tablets for half a minute before it serves.
	commandLimit = time.Minute
	stopLimit    = 15 * time.Second
	// nobody is the user of the programs if this one is root: those of Vitess refuse to run as root.
	nobody = 65534
)

// process is a program that runs until it is stopped.
type process struct {
	name  string
	log   string // The path of its log.
	ended chan struct{}
	cmd   *exec.Cmd
}

// startProcess starts a program in a directory of its own.
func startProcess(name, program string, args []string, directory string) (*process, error) {
	if err := makeDirectory(directory); err != nil {
		return nil, err
	}
	p := &process{name: name, log: filepath.Join(directory, "log"), ended: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() // The program has its own.
	p.cmd = command(context.Background(), program, args, directory)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

func command(ctx context.Context, program string, args []string, directory string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = directory
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + directory, "VTDATAROOT=" + directory}
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return c
}

// makeDirectory makes a directory that the programs may write.
func makeDirectory(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		return os.Chown(path, nobody, nobody)
	}
	return nil
}

// stop ends the process, at first as the kubelet does.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopLimit):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// failed returns an error with the end of the log.
func (p *process) failed(why string) error {
	text, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%s %s:\n%s", p.name, why, strings.Join(lines[max(0, len(lines)-15):], "\n"))
}

// waitFor waits until a page is served with status 200.
func (p *process) waitFor(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for {
		_, err := get(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return p.failed("has ended")
		case <-ctx.Done():
			return p.failed(fmt.Sprintf("did not become ready: %v", err))
		case <-time.After(poll):
		}
	}
}

// freePort returns a TCP port that nothing listens on.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

var client = http.Client{Timeout: 5 * time.Second}
