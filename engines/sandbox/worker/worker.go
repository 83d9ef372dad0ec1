// Package worker is the process that scripts run in. It answers the questions of its host one at a time
// (see package protocol), and exits when the host closes the pipe.
package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
	_ "time/tzdata" // A worker can't open files.

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// Argument is the first argument of a worker process. The last ones are those of Arguments.
const Argument = "__worker"

const (
	// maxStack bounds the stack of a goroutine. The process exits if it is exceeded.
	maxStack = 64 << 20
	// initialGCPercent is the garbage collector's target until the first question.
	initialGCPercent = 400
	// maxProcs is one processor for the script and one for the heap watch.
	maxProcs = 2
)

// Environment returns the environment of a worker. Setting GOGC from the start saves a collection while
// packages are initialized, which is a fifth of the start time.
func Environment() []string { return []string{"GOGC=" + strconv.Itoa(initialGCPercent)} }

// IsStarted reports whether the process was started as a worker.
func IsStarted() bool { return len(os.Args) > 1 && os.Args[1] == Argument }

// Main runs a worker and does not return if the process was started as one. Otherwise it returns at
// once. It must be called first in main, and in TestMain of tests that need workers. The definitions
// must be those of the host.
func Main(definitions func() []engines.Definition) {
	if !IsStarted() {
		return
	}
	in, out := os.Stdin, os.Stdout
	os.Stdout = os.Stderr // Prints must not become messages.
	time.Local = time.UTC
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(initialGCPercent) // The process may have been started without Environment.
	runtime.GOMAXPROCS(maxProcs)
	runtime.MemProfileRate = 0 // Profiling is not used, and takes a thirtieth of a call.
	options, err := readArguments(os.Args[2:])
	if err == nil {
		pages := FindProgramPages()
		err = serve(in, out, confine.Apply(options), pages, definitions)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "script worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve answers questions from in until it ends. Then the process exits, even if a script is running.
func serve(in io.Reader, out io.Writer, confined *confine.Confined, pages ProgramPages, definitions func() []engines.Definition) error {
	s := &server{
		in: bufio.NewReader(in), out: out, done: make(chan error, 1), pages: pages,
		limits: newLimits(confined), programs: programs{definitions: definitions}, texts: texts{}, objects: wire.NewObjects(),
	}
	if err := s.sendReady(confined.Report); err != nil {
		return err
	}
	pages.Release()
	s.idle = time.AfterFunc(idleAfter, s.returnMemory)
	defer s.idle.Stop()
	go s.serveNext()
	return <-s.done
}

// server is the state of a worker.
type server struct {
	in      *bufio.Reader
	out     io.Writer
	done    chan error
	pages   ProgramPages
	idle    *time.Timer // Calls returnMemory.
	current current

	mu       sync.Mutex // Guards the fields below.
	frame    []byte
	limits   limits
	programs programs
	texts    texts
	objects  *wire.Objects
}

func (s *server) sendReady(report confine.Report) error {
	e := wire.NewEncoder(wire.Begin(nil))
	protocol.Ready{Report: report}.Append(e)
	_, err := s.out.Write(wire.Finish(e.Bytes()))
	return err
}

// serveNext reads the next question and answers it. First it starts another goroutine that reads on,
// which sees a Cancel and the host's exit. Handing over the reading instead of the question saves a
// thread switch for each question.
func (s *server) serveNext() {
	q, err := s.nextQuestion()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if q == nil {
		s.done <- err
		return
	}
	s.current.set(q)
	go s.serveNext()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply(q)
	s.idle.Reset(idleAfter)
}

// idleAfter is how long after its last question a worker returns memory to the system.
const idleAfter = 5 * time.Second

// returnMemory returns what the worker does not need while it waits. A question that comes meanwhile waits for some milliseconds.
func (s *server) returnMemory() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits.reset()
	debug.FreeOSMemory()
	s.pages.Release()
}

// nextQuestion returns the next question, and processes the cancels before it.
func (s *server) nextQuestion() (*question, error) {
	for {
		payload, err := wire.ReadFrame(s.in, protocol.MaxQuestion)
		if err != nil {
			return nil, err
		}
		q, err := parseQuestion(payload)
		if err != nil {
			return nil, err
		}
		if q.Kind != protocol.KindCancel {
			return q, nil
		}
		s.current.cancel(q.Number)
	}
}
