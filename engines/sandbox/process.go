package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
	"github.com/libretto-k8s/libretto/engines/sandbox/owntime"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
)

const (
	// startTimeout bounds the start of a worker, in time of its own.
	startTimeout = 10 * time.Second
	// minOuter and outerFactor say how long a question may take by the wall in all, with what the worker waits for a processor: a fair share
	// of a machine with a load of 30 for each processor suffices. A worker that sleeps has used up its own time long before.
	minOuter, outerFactor = time.Minute, 30
)

// process is a worker process, as the host sees it. Only the goroutine that has acquired it calls load
// and call; kill may be called from any goroutine.
type process struct {
	slot  int
	grace time.Duration
	// maxMemory is the largest memory limit of a question. The worker can't get more memory than that, and
	// maxCachedMemory.
	maxMemory int64

	command *exec.Cmd
	stdin   *os.File
	stderr  *stderrBuffer
	usage   *usage
	sender  atomic.Int32 // Which side may send next.
	answers chan []byte
	exited  chan struct{} // Closed once exit is set.
	exit    workerExit

	mu         sync.Mutex
	killReason string
	deadline   owntime.End // How its time was over, if it was killed for that.
	grown      int64       // How much memory it had gained then.

	// questions counts the questions sent.
	questions atomic.Uint64

	// The fields below belong to the goroutine that has acquired the worker, and to the pool while it is
	// idle.
	number    uint64 // Of the last question.
	nearLimit bool
	budget    int64 // The memory limit of the last question.
	memory    memoryUse
	buffer    []byte
	programs  programCache
	texts     textCache
	// engineMemory is what the worker's engines keep for programs to come, in bytes.
	engineMemory int64
	objects      objectCache

	// The fields below belong to the pool, and are used while it is locked.
	assigned    bool // It is of a trust domain, of that name, since that time.
	domain      string
	domainSince time.Time
	idleSince   time.Time
	// expected says which question comes next from the caller of the last one, as far as is known.
	expected expectation
}

// Values of process.sender. A worker that sends anything but one message when it may is killed.
const (
	workerSends int32 = iota // A new worker sends Ready.
	hostSends
	noneSends // The worker broke the protocol and is being killed.
)

// memoryUse is the memory of a worker in bytes.
type memoryUse struct {
	// resident leaves out the pages that the worker shares with the host: the binary.
	resident int64
	// grown is how much resident has grown since the worker was ready, and mapped how much the private
	// memory that it got from the system has.
	grown, mapped int64
}

func defaultCommand() []string { return []string{executable(), worker.Argument} }

// start starts a worker for programs with memory limits up to maxMemory, and waits for its first message.
func start(config Config, slot int, maxMemory int64) (*process, protocol.Ready, error) {
	p := &process{
		slot: slot, grace: config.Grace, maxMemory: maxMemory, programs: newProgramCache(), texts: newTextCache(), objects: newObjectCache(),
		answers: make(chan []byte, 1), stderr: newStderrBuffer(), exited: make(chan struct{}),
	}
	out, stderr, err := p.launch(config)
	if err != nil {
		return nil, protocol.Ready{}, err
	}
	go p.monitor(bufio.NewReader(out), stderr)
	defer p.killAtDeadline(startTimeout, reasonStart).Stop()
	select {
	case first := <-p.answers:
		ready, err := protocol.ReadReady(first)
		if unmet := config.Require.Unmet(ready.Report); err == nil && len(unmet) > 0 {
			err = &UnconfinedError{Unmet: unmet}
		}
		if err != nil {
			p.kill(reasonProtocol)
			<-p.exited
			return nil, ready, err
		}
		p.usage = openUsage(p.command.Process.Pid)
		p.memory = p.usage.read()
		return p, ready, nil
	case <-p.exited:
		return nil, protocol.Ready{}, fmt.Errorf("ended before it was ready: %s", p.exit.summary())
	}
}

// launch starts the process with a pipe for each of its standard streams and no other descriptor.
func (p *process) launch(config Config) (out, stderr *os.File, err error) {
	var pipes [3][2]*os.File
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			closeAll(pipes[:i])
			return nil, nil, err
		}
	}
	p.command = exec.Command(config.Command[0], config.Command[1:]...)
	p.command.Args = append(p.command.Args, worker.Arguments(confine.Options{
		WithoutSeccomp: config.WithoutSeccomp, MaxBudget: p.maxMemory + maxCachedMemory,
	})...)
	p.command.Args[0] = os.Args[0]
	p.command.Env = worker.Environment()
	p.command.SysProcAttr = processGroup()
	p.command.Stdin, p.command.Stdout, p.command.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	err = p.command.Start()
	for _, theirs := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} {
		theirs.Close()
	}
	if err != nil {
		closeAll(pipes[:])
		return nil, nil, err
	}
	p.stdin = pipes[0][1]
	return pipes[1][0], pipes[2][0], nil
}

// closeAll closes both ends of each pipe. An end may be closed already.
func closeAll(pipes [][2]*os.File) {
	for _, ends := range pipes {
		ends[0].Close()
		ends[1].Close()
	}
}

// monitor passes on the worker's messages until it exits, then sets exit.
func (p *process) monitor(out *bufio.Reader, stderr *os.File) {
	go p.stderr.readFrom(stderr)
	p.readAnswers(out)
	_ = p.command.Process.Kill() // It may have closed its output without exiting.
	_ = p.command.Wait()         // The status is in ProcessState.
	// A child process of the worker may hold stderr open. It must not block this.
	_ = stderr.SetReadDeadline(time.Now().Add(time.Second))
	p.exit = workerExit{killReason: p.finalKillReason(), status: p.command.ProcessState.String()}
	p.exit.deadline, p.exit.grown = p.atDeadline()
	p.exit.stderr, p.exit.dropped = p.stderr.wait()
	p.stdin.Close()
	close(p.exited)
}

// readAnswers passes on one message each time that the worker may send. A worker that sends anything else
// could answer a question before it is asked, and is killed.
func (p *process) readAnswers(out *bufio.Reader) {
	for {
		if _, err := out.Peek(1); err != nil {
			return
		}
		if !p.sender.CompareAndSwap(workerSends, hostSends) {
			p.breakOff()
			return
		}
		answer, err := wire.ReadFrame(out, protocol.MaxAnswer)
		if errors.Is(err, wire.ErrTooLarge) || err == nil && out.Buffered() > 0 {
			p.breakOff()
			return
		}
		if err != nil {
			return
		}
		p.answers <- answer // Has room, as nothing is read before the next question.
	}
}

// breakOff kills a worker that does not keep to the protocol. It is not asked again.
func (p *process) breakOff() {
	p.sender.Store(noneSends)
	p.kill(reasonProtocol)
}

// kill ends the worker at once. The first reason counts.
func (p *process) kill(reason string) {
	p.mu.Lock()
	if p.killReason == "" {
		p.killReason = reason
	}
	p.mu.Unlock()
	_ = p.command.Process.Kill() // Fails only if the process has exited.
}

// killAtDeadline kills the worker once it has had so much time of its own, or the returned limit expires, unless that is stopped before.
func (p *process) killAtDeadline(limit time.Duration, reason string) *owntime.Limit {
	return owntime.Start(p.command.Process.Pid, limit, max(minOuter, outerFactor*limit), func(end owntime.End) {
		grown := p.usage.read().grown
		p.mu.Lock()
		p.deadline, p.grown = end, grown
		p.mu.Unlock()
		p.kill(reason)
	})
}

// killAfter kills the worker after d by the wall unless the returned function is called before. If that function is
// called too late, the kill may be under way: it then sets the kill reason itself, so that the worker is
// not reused and the kill does not hit the next call.
func (p *process) killAfter(d time.Duration, reason string) (stop func()) {
	timer := time.AfterFunc(d, func() { p.kill(reason) })
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			p.kill(reason)
		}
	})
}

// finalKillReason returns why the host killed the worker. It returns "" if the worker exited by itself
// first: the Go runtime exits with status 2.
func (p *process) finalKillReason() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command.ProcessState.Exited() && p.command.ProcessState.ExitCode() != 0 {
		return ""
	}
	return p.killReason
}

// atDeadline returns how the worker's time was over, and how much memory it had gained then.
func (p *process) atDeadline() (end owntime.End, grown int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deadline, p.grown
}

// pendingKill returns why the worker is being killed, or "".
func (p *process) pendingKill() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killReason
}
