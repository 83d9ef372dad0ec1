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
	pipes   pipes
	usage   *usage
	exited  chan struct{} // Closed once exit is set.
	exit    workerExit
	killing killing

	// questions counts the questions sent.
	questions atomic.Uint64

	// The fields below belong to the goroutine that has acquired the worker, and to the pool while it is
	// idle.
	number    uint64 // Of the last question.
	nearLimit bool
	budget    int64 // The memory limit of the last question.
	memory    memoryUse
	buffer    []byte
	caches    workerCaches

	// The fields below belong to the pool, and are used while it is locked.
	trust     trust
	idleSince time.Time
	// expected says which question comes next from the caller of the last one, as far as is known.
	expected expectation
}

// pipes are the streams between the host and a worker.
type pipes struct {
	stdin   *os.File
	stderr  *stderrBuffer
	sender  atomic.Int32 // Which side may send next.
	answers chan []byte
}

// killing is why the host kills a worker.
type killing struct {
	mu       sync.Mutex
	reason   string
	deadline owntime.End // How its time was over, if it was killed for that.
	grown    int64       // How much memory it had gained then.
}

// workerCaches are what a worker keeps for questions to come, as far as the host knows.
type workerCaches struct {
	programs programCache
	texts    textCache
	// engineMemory is what the worker's engines keep for programs to come, in bytes.
	engineMemory int64
	objects      objectCache
}

// newWorkerCaches returns those of a worker that has not been asked anything.
func newWorkerCaches() workerCaches {
	return workerCaches{programs: newProgramCache(), texts: newTextCache(), objects: newObjectCache()}
}

// trust is the trust domain of a worker: whether it is of one, of which name, since when.
type trust struct {
	assigned bool
	domain   string
	since    time.Time
}

// Values of pipes.sender. A worker that sends anything but one message when it may is killed.
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
		slot: slot, grace: config.Grace, maxMemory: maxMemory, caches: newWorkerCaches(), exited: make(chan struct{}),
		pipes: pipes{answers: make(chan []byte, 1), stderr: newStderrBuffer()},
	}
	out, stderr, err := p.launch(config)
	if err != nil {
		return nil, protocol.Ready{}, err
	}
	go p.monitor(bufio.NewReader(out), stderr)
	defer p.killAtDeadline(startTimeout, reasonStart).Stop()
	select {
	case first := <-p.pipes.answers:
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

// errNotAWorker is returned in a process that was started as a worker and came to start one: its main does not call worker.Main first, and
// each process would start others without end.
var errNotAWorker = errors.New("this process was started as a script worker, and is none: main, or TestMain, has to call worker.Main first")

// launch starts the process with a pipe for each of its standard streams and no other descriptor.
func (p *process) launch(config Config) (out, stderr *os.File, err error) {
	if worker.IsStarted() {
		return nil, nil, errNotAWorker
	}
	var ends [3][2]*os.File
	for i := range ends {
		if ends[i][0], ends[i][1], err = os.Pipe(); err != nil {
			closeAll(ends[:i])
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
	p.command.Stdin, p.command.Stdout, p.command.Stderr = ends[0][0], ends[1][1], ends[2][1]
	err = p.command.Start()
	for _, theirs := range []*os.File{ends[0][0], ends[1][1], ends[2][1]} {
		theirs.Close()
	}
	if err != nil {
		closeAll(ends[:])
		return nil, nil, err
	}
	p.pipes.stdin = ends[0][1]
	return ends[1][0], ends[2][0], nil
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
	go p.pipes.stderr.readFrom(stderr)
	p.readAnswers(out)
	_ = p.command.Process.Kill() // It may have closed its output without exiting.
	_ = p.command.Wait()         // The status is in ProcessState.
	// A child process of the worker may hold stderr open. It must not block this.
	_ = stderr.SetReadDeadline(time.Now().Add(time.Second))
	p.exit = workerExit{killReason: p.finalKillReason(), status: p.command.ProcessState.String()}
	p.exit.deadline, p.exit.grown = p.atDeadline()
	p.exit.stderr, p.exit.dropped = p.pipes.stderr.wait()
	p.pipes.stdin.Close()
	close(p.exited)
}

// readAnswers passes on one message each time that the worker may send. A worker that sends anything else
// could answer a question before it is asked, and is killed.
func (p *process) readAnswers(out *bufio.Reader) {
	for {
		if _, err := out.Peek(1); err != nil {
			return
		}
		if !p.pipes.sender.CompareAndSwap(workerSends, hostSends) {
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
		p.pipes.answers <- answer // Has room, as nothing is read before the next question.
	}
}

// breakOff kills a worker that does not keep to the protocol. It is not asked again.
func (p *process) breakOff() {
	p.pipes.sender.Store(noneSends)
	p.kill(reasonProtocol)
}

// kill ends the worker at once. The first reason counts.
func (p *process) kill(reason string) {
	p.killing.mu.Lock()
	if p.killing.reason == "" {
		p.killing.reason = reason
	}
	p.killing.mu.Unlock()
	_ = p.command.Process.Kill() // Fails only if the process has exited.
}

// killAtDeadline kills the worker once it has had so much time of its own, or the returned limit expires, unless that is stopped before.
func (p *process) killAtDeadline(limit time.Duration, reason string) *owntime.Limit {
	return owntime.Start(p.command.Process.Pid, limit, max(minOuter, outerFactor*limit), func(end owntime.End) {
		grown := p.usage.read().grown
		p.killing.mu.Lock()
		p.killing.deadline, p.killing.grown = end, grown
		p.killing.mu.Unlock()
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
	p.killing.mu.Lock()
	defer p.killing.mu.Unlock()
	if p.command.ProcessState.Exited() && p.command.ProcessState.ExitCode() != 0 {
		return ""
	}
	return p.killing.reason
}

// atDeadline returns how the worker's time was over, and how much memory it had gained then.
func (p *process) atDeadline() (end owntime.End, grown int64) {
	p.killing.mu.Lock()
	defer p.killing.mu.Unlock()
	return p.killing.deadline, p.killing.grown
}

// pendingKill returns why the worker is being killed, or "".
func (p *process) pendingKill() string {
	p.killing.mu.Lock()
	defer p.killing.mu.Unlock()
	return p.killing.reason
}
