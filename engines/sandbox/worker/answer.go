package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// errUnreadable means that a call can't be decoded. The worker may have other objects than the host
// expects, and must not be used again.
var errUnreadable = errors.New("the call can't be read")

func (s *server) reply(q *question) {
	answer := s.answer(q)
	s.current.clear(q)
	s.frame = wire.Finish(answer.Append(wire.Begin(s.frame), s.objects))
	if _, err := s.out.Write(s.frame); err != nil {
		os.Exit(1) // The host has closed the pipe.
	}
	s.frame = reusable(s.frame)
}

// reusable returns the buffer for the next answer. A large one is not kept.
func reusable(buf []byte) []byte {
	const kept = 1 << 20
	if cap(buf) > kept {
		return nil
	}
	return buf
}

// answer answers a question within its limits.
func (s *server) answer(q *question) protocol.Answer {
	defer q.cancel(nil)
	finish, err := s.limits.begin(q)
	if err != nil {
		return failedAnswer(q, err)
	}
	answer, err := s.runRecovered(q)
	answer.Number, answer.Err, answer.Unreadable = q.Number, toEngineError(q, err), errors.Is(err, errUnreadable)
	var pressed bool
	if answer.NearLimit, pressed = finish(err != nil && q.ctx.Err() != nil); pressed && answer.Err != nil &&
		answer.Err.Kind == engines.Timeout {
		answer.Err = memoryError(q, answer.Err)
	}
	answer.CachedBytes = s.programs.cachedBytes()
	return answer
}

func failedAnswer(q *question, err error) protocol.Answer {
	return protocol.Answer{Number: q.Number, Err: &engines.Error{Kind: engines.Failed, Message: err.Error()}}
}

// runRecovered turns a panic into an error: the next question may be of another definition.
func (s *server) runRecovered(q *question) (answer protocol.Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &engines.Error{
				Kind:    engines.Failed,
				Message: fmt.Sprintf("the engine panicked: %v: please report this as a bug of libretto", cause),
				Stack:   strings.Split(string(debug.Stack()), "\n"),
			}
		}
	}()
	if q.Kind == protocol.KindLoad {
		answer, err = s.load(q)
	} else {
		answer.Response, err = s.call(q)
	}
	return answer, err
}

// load compiles a program and returns the memory that it takes, its warnings and its points.
func (s *server) load(q *question) (answer protocol.Answer, err error) {
	load, err := protocol.ReadLoad(q.body)
	if err != nil {
		return answer, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	s.programs.evict(load.Evict)
	added, err := s.texts.assemble(&load)
	if err != nil {
		return answer, err
	}
	before := s.programs.cachedBytes()
	answer.ProgramBytes, err = measureLoad(added, func() error { return s.programs.load(q.ctx, q.Program, load) })
	answer.ProgramBytes -= s.programs.cachedBytes() - before
	if program, ok := s.programs.loaded[q.Program]; ok {
		answer.Warnings, answer.Points, answer.Files = program.Warnings(), program.CoveragePoints(), program.Files()
		answer.Outline = program.Outline().Marshal()
	}
	return answer, err
}

func (s *server) call(q *question) (engines.Response, error) {
	q.body.Objects, q.body.Lookup = s.objects, s.objects.Get
	call, err := protocol.ReadCall(q.body)
	if err != nil {
		return engines.Response{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	program, err := s.programs.get(q.Program)
	if err != nil {
		return engines.Response{}, err
	}
	return program.Run(q.ctx, call)
}

// toEngineError converts an error of an engine. If the memory limit canceled the question, it returns
// that error: only the worker knows it.
func toEngineError(q *question, err error) *engines.Error {
	if err == nil {
		return nil
	}
	var e *engines.Error
	if !errors.As(err, &e) {
		return &engines.Error{Kind: engines.Failed, Message: err.Error()}
	}
	if errors.Is(context.Cause(q.ctx), errMemory) {
		return memoryError(q, e)
	}
	return e
}

// memoryError returns the error of a question that takes too much memory, at the place of that error.
func memoryError(q *question, at *engines.Error) *engines.Error {
	return &engines.Error{Kind: engines.Exhausted, Message: protocol.MemoryLimitMessage(q.Memory), Location: at.Location, Stack: at.Stack}
}
