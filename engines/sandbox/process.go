package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
)

// readyWithin is how long a worker may take to start.
const readyWithin = 10 * time.Second

// process is a worker, seen from the host. Whoever took it from the pool asks it; all
// else may come from any goroutine.
type process struct {
	slot  int
	grace time.Duration
	began time.Time

	command *exec.Cmd
	in      *os.File
	stderr  *stderr
	usage   *usage
	answers chan []byte
	gone    chan struct{} // Closed once death is known.
	death   death

	mu sync.Mutex
	by string

	// number is that of the last question.
	number atomic.Uint64

	// The rest belongs to whoever took it, and to the pool while it is idle.
	spent    bool
	memory   int64 // The budget of the last question.
	size     size
	frame    []byte
	programs shelf
	objects  objects
}

// size is what a worker takes of memory, in bytes.
type size struct {
	// resident leaves out what it shares with the host: the binary.
	resident int64
	// kept is what of that was not there when the worker was ready, mapped the same
	// for what it has got from the system at any time.
	kept, mapped int64
}

func ownCommand() []string { return []string{ownBinary(), worker.Argument} }

// start starts a worker and waits for its first message.
func start(config Config, slot int) (*process, protocol.Ready, error) {
	p := &process{
		slot: slot, grace: config.Grace, began: time.Now(), programs: newShelf(), objects: newObjects(),
		answers: make(chan []byte, 1), stderr: &stderr{done: make(chan struct{})}, gone: make(chan struct{}),
	}
	out, stderr, err := p.launch(config)
	if err != nil {
		return nil, protocol.Ready{}, err
	}
	go p.attend(bufio.NewReader(out), stderr)
	stuck := time.AfterFunc(readyWithin, func() { p.kill(becauseStuck) })
	defer stuck.Stop()
	select {
	case first := <-p.answers:
		ready, err := protocol.ReadReady(first)
		if err != nil {
			p.kill(becauseProtocol)
			<-p.gone
			return nil, ready, err
		}
		p.usage = watchUsage(p.command.Process.Pid)
		p.size = p.usage.read()
		return p, ready, nil
	case <-p.gone:
		return nil, protocol.Ready{}, fmt.Errorf("ended before it was ready: %s", p.death.brief())
	}
}

// launch starts the process with a pipe for each of its standard streams, and no other descriptor.
func (p *process) launch(config Config) (out, stderr *os.File, err error) {
	var pipes [3][2]*os.File
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			closeAll(pipes[:i])
			return nil, nil, err
		}
	}
	p.command = exec.Command(config.Command[0], config.Command[1:]...)
	if config.WithoutSeccomp {
		p.command.Args = append(p.command.Args, worker.WithoutSeccomp)
	}
	p.command.Args[0] = os.Args[0]
	p.command.Env = worker.Environment()
	p.command.SysProcAttr = apart()
	p.command.Stdin, p.command.Stdout, p.command.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	err = p.command.Start()
	for _, theirs := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} {
		theirs.Close()
	}
	if err != nil {
		closeAll(pipes[:])
		return nil, nil, err
	}
	p.in = pipes[0][1]
	return pipes[1][0], pipes[2][0], nil
}

// closeAll closes both ends of pipes. An end that is closed already stays so.
func closeAll(pipes [][2]*os.File) {
	for _, ends := range pipes {
		ends[0].Close()
		ends[1].Close()
	}
}

// attend hands on what the worker says until it ends, and finds out how it did.
func (p *process) attend(out io.Reader, stderr *os.File) {
	go p.stderr.drain(stderr)
	p.listen(out)
	_ = p.command.Process.Kill() // If it hung up without ending.
	_ = p.command.Wait()         // How it ended is in its state.
	// A process of its own that it could have left behind must not hold this up.
	_ = stderr.SetReadDeadline(time.Now().Add(time.Second))
	p.death = death{by: p.killedBy(), status: p.command.ProcessState.String(), stderr: p.stderr.text()}
	p.in.Close()
	close(p.gone)
}

func (p *process) listen(out io.Reader) {
	for {
		answer, err := wire.ReadFrame(out, protocol.MaxAnswer)
		if errors.Is(err, wire.ErrTooLarge) {
			p.kill(becauseProtocol)
		}
		if err != nil {
			return
		}
		select {
		case p.answers <- answer:
		default:
			p.kill(becauseProtocol) // It talks without being asked.
			return
		}
	}
}

// kill ends the worker at once. The first reason given is the one that counts.
func (p *process) kill(by string) {
	p.mu.Lock()
	if p.by == "" {
		p.by = by
	}
	p.mu.Unlock()
	_ = p.command.Process.Kill() // Fails only if it has ended.
}

// killAfter kills the worker unless what it gives is called before. If that is called
// too late, the kill may be under way still: the worker is doomed then, so that nobody
// else gets it, whose call would be what is killed.
func (p *process) killAfter(d time.Duration, by string) (inTime func()) {
	timer := time.AfterFunc(d, func() { p.kill(by) })
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			p.kill(by)
		}
	})
}

// killedBy is why the host killed the worker, or "" if it ended by itself before
// that: the Go runtime's own end is exit status 2.
func (p *process) killedBy() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command.ProcessState.Exited() && p.command.ProcessState.ExitCode() != 0 {
		return ""
	}
	return p.by
}

// doomed is why the worker is being killed, or "".
func (p *process) doomed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.by
}
