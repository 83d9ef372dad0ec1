package worker

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// echo is an engine whose programs answer their request's value, or wait for the end of the context.
func echo() []engines.Definition {
	return []engines.Definition{{Name: "Echo", New: func(engines.Config) (engines.Engine, error) { return echoEngine{}, nil }}}
}

type echoEngine struct{}

func (echoEngine) Compile(context.Context, engines.Source) (engines.Program, error) {
	return echoProgram{}, nil
}

type echoProgram struct{ engines.ProgramBase }

func (echoProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	if call.Request["value"] == "wait" {
		<-ctx.Done()
		return engines.Response{}, engines.Ended(ctx)
	}
	return engines.Response{Body: call.Request["value"]}, nil
}

// session is a worker in this process, unconfined, and its host's side.
type session struct {
	t     *testing.T
	in    io.WriteCloser
	out   io.Reader
	ended chan error
}

func newSession(t *testing.T) *session {
	t.Helper()
	in, toWorker := io.Pipe()
	fromWorker, out := io.Pipe()
	s := &session{t: t, in: toWorker, out: fromWorker, ended: make(chan error, 1)}
	unlimited := &confine.Confined{Report: confine.Report{confine.MemoryLimit: "not in a test"}}
	go func() { s.ended <- serve(in, out, unlimited, ProgramPages{}, echo) }()
	payload, err := wire.ReadFrame(s.out, protocol.MaxAnswer)
	if err != nil {
		t.Fatal(err)
	}
	ready, err := protocol.ReadReady(payload)
	if diff := cmp.Diff(map[string]string(unlimited.Report), ready.Report); err != nil || diff != "" {
		t.Fatalf("ready: error %v, (-want +got):\n%s", err, diff)
	}
	return s
}

func (s *session) send(q protocol.Question, rest func(*wire.Encoder)) {
	s.t.Helper()
	e := wire.NewEncoder(wire.Begin(nil))
	q.Timeout, q.Memory, q.Program = time.Minute, 1<<30, "p"
	q.Append(e)
	rest(e)
	if _, err := s.in.Write(wire.Finish(e.Bytes())); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) answer() protocol.Answer {
	s.t.Helper()
	payload, err := wire.ReadFrame(s.out, protocol.MaxAnswer)
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := protocol.ReadAnswer(payload, wire.NewObjects().Get)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *session) load() {
	s.t.Helper()
	s.send(protocol.Question{Kind: protocol.KindLoad, Number: 1}, protocol.Load{Engine: "Echo"}.Append)
	if a := s.answer(); a.Number != 1 || a.Err != nil {
		s.t.Fatalf("load: %+v", a)
	}
}

func call(value any) func(*wire.Encoder) {
	return protocol.Call{Call: engines.Call{Request: map[string]any{"value": value}}}.Append
}

func TestSession(t *testing.T) {
	s := newSession(t)
	s.load()
	s.send(protocol.Question{Kind: protocol.KindCall, Number: 2}, call("hello"))
	if a := s.answer(); a.Number != 2 || a.Response.Body != "hello" {
		t.Errorf("answer %+v", a)
	}
	s.in.Close()
	if err := <-s.ended; err != nil {
		t.Errorf("after the host hung up: %v", err)
	}
}

// TestCancel sends a late cancel of an earlier question, which must not cancel the current one.
func TestCancel(t *testing.T) {
	s := newSession(t)
	s.load()
	s.send(protocol.Question{Kind: protocol.KindCall, Number: 2}, call("wait"))
	for _, number := range []uint64{1, 2} {
		e := wire.NewEncoder(wire.Begin(nil))
		protocol.AppendCancel(e, number)
		if _, err := s.in.Write(wire.Finish(e.Bytes())); err != nil {
			t.Fatal(err)
		}
	}
	if a := s.answer(); a.Number != 2 || a.Err == nil || a.Err.Kind != engines.Failed {
		t.Errorf("answer %+v, error %v", a, a.Err)
	}
	s.send(protocol.Question{Kind: protocol.KindCall, Number: 3}, call("still here"))
	if a := s.answer(); a.Number != 3 || a.Response.Body != "still here" {
		t.Errorf("answer %+v, error %v", a, a.Err)
	}
}

// TestUnreadable sends a reference to an object that the worker does not have.
func TestUnreadable(t *testing.T) {
	s := newSession(t)
	s.load()
	held := func(map[string]any) wire.Shared { return wire.Shared{ID: 5, Known: true} }
	s.send(protocol.Question{Kind: protocol.KindCall, Number: 2}, func(e *wire.Encoder) {
		e.Share = held
		call("x")(e)
	})
	if a := s.answer(); !a.Unreadable || a.Err == nil {
		t.Errorf("answer %+v: the host has to know that nothing was run", a)
	}
}

// TestGarbage sends a message that is not a question.
func TestGarbage(t *testing.T) {
	s := newSession(t)
	if _, err := s.in.Write(wire.Finish(append(wire.Begin(nil), 0xff))); err != nil {
		t.Fatal(err)
	}
	if err := <-s.ended; err == nil {
		t.Error("the worker goes on")
	}
}
