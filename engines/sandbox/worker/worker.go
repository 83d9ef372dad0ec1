// Package worker is the process that scripts run in. It answers the questions of
// its host (see package protocol), one at a time, and ends when the host hangs up.
package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"
	_ "time/tzdata" // A worker can open no files.

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

const (
	// Argument is the first argument of a process that shall be a worker.
	Argument = "__worker"
	// WithoutSeccomp is another one, which leaves that out.
	WithoutSeccomp = "without-seccomp"
)

const (
	// maxStack bounds the stack of a goroutine. To go over it ends the process.
	maxStack = 64 << 20
	// collectAt is the garbage collector's target until the first question.
	collectAt = 400
	// processors is one for the script, and one for what watches it.
	processors = 2
)

// Environment is all that a worker is given of one. That the garbage collector's target
// holds from the start saves a collection while packages are initialized, a fifth of
// the time that it takes to start.
func Environment() []string { return []string{"GOGC=" + strconv.Itoa(collectAt)} }

// Main becomes a worker if the process was started as one, and then does not return. It
// is called first of all in main, and in TestMain of tests that need workers. The
// definitions are those that the host has.
func Main(definitions func() []engines.Definition) {
	if len(os.Args) < 2 || os.Args[1] != Argument {
		return
	}
	in, out := os.Stdin, os.Stdout
	os.Stdout = os.Stderr // What is printed by mistake is no message.
	time.Local = time.UTC
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(collectAt) // Whoever started it may not have used Environment.
	runtime.GOMAXPROCS(processors)
	runtime.MemProfileRate = 0 // Nobody asks, and it is a thirtieth of a call.
	confined := confine.Apply(!slices.Contains(os.Args, WithoutSeccomp))
	if err := serve(in, out, confined, definitions); err != nil {
		fmt.Fprintln(os.Stderr, "script worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve answers what comes from in, until that ends. Then the process does, whatever
// the script is doing.
func serve(in io.Reader, out io.Writer, confined *confine.Confined, definitions func() []engines.Definition) error {
	s := &server{
		in: bufio.NewReader(in), out: out, ended: make(chan error, 1),
		limits: newLimits(confined), programs: programs{definitions: definitions}, objects: wire.NewObjects(),
	}
	if err := s.greet(confined.Report); err != nil {
		return err
	}
	go s.read()
	return <-s.ended
}

// server is a worker's state.
type server struct {
	in      *bufio.Reader
	out     io.Writer
	ended   chan error
	current current

	answering sync.Mutex // Over the rest.
	frame     []byte
	limits    limits
	programs  programs
	objects   *wire.Objects
}

func (s *server) greet(report confine.Report) error {
	e := wire.NewEncoder(wire.Begin(nil))
	protocol.Ready{Report: report}.Append(e)
	_, err := s.out.Write(wire.Finish(e.Bytes()))
	return err
}

// read reads the next question and answers it. Before that it leaves the reading to
// another goroutine, which notices a Cancel and the host's end: to hand over the reading
// and not the question saves the question a change of threads.
func (s *server) read() {
	q, err := s.next()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if q == nil {
		s.ended <- err
		return
	}
	s.current.set(q)
	go s.read()
	s.answering.Lock()
	defer s.answering.Unlock()
	s.reply(q)
}

// next gives the next question, and cancels those that are to be.
func (s *server) next() (*question, error) {
	for {
		payload, err := wire.ReadFrame(s.in, protocol.MaxQuestion)
		if err != nil {
			return nil, err
		}
		q, err := parse(payload)
		if err != nil {
			return nil, err
		}
		if q.Kind != protocol.KindCancel {
			return q, nil
		}
		s.current.cancel(q.Number)
	}
}
