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

// errMisread says that a call can't be read. The worker may have other objects than
// the host thinks, and must not be asked again.
var errMisread = errors.New("the call can't be read")

func (s *server) reply(q *question) {
	answer := s.answer(q)
	s.current.unset(q)
	s.frame = wire.Finish(answer.Append(wire.Begin(s.frame), s.objects))
	if _, err := s.out.Write(s.frame); err != nil {
		os.Exit(1) // Nobody listens.
	}
	s.frame = reusable(s.frame)
}

// reusable is the buffer for the next answer. One that was large is not kept.
func reusable(buf []byte) []byte {
	const kept = 1 << 20
	if cap(buf) > kept {
		return nil
	}
	return buf
}

// answer answers under the question's limits, and leaves the process fit for the next one.
func (s *server) answer(q *question) protocol.Answer {
	defer q.stop(nil)
	finish, err := s.limits.begin(q)
	if err != nil {
		return failed(q, err)
	}
	answer, err := s.guarded(q)
	answer.Number, answer.Err, answer.Misread = q.Number, explained(q, err), errors.Is(err, errMisread)
	answer.Spent = finish(err != nil && q.ctx.Err() != nil)
	return answer
}

func failed(q *question, err error) protocol.Answer {
	return protocol.Answer{Number: q.Number, Err: &engines.Error{Kind: engines.Failed, Message: err.Error()}}
}

// guarded makes an error of a panic: the next question is of other people.
func (s *server) guarded(q *question) (answer protocol.Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &engines.Error{Kind: engines.Failed, Message: fmt.Sprintf("the engine panicked: %v: please report this as a bug of libretto", cause),
				Stack: strings.Split(string(debug.Stack()), "\n")}
		}
	}()
	if q.Kind == protocol.KindLoad {
		answer.Kept, answer.Warnings, err = s.load(q)
	} else {
		answer.Response, err = s.call(q)
	}
	return answer, err
}

// load keeps a program, and gives what it takes of memory and what it warns of.
func (s *server) load(q *question) (int64, []*engines.Error, error) {
	load, err := protocol.ReadLoad(q.rest)
	if err != nil {
		return 0, nil, err
	}
	s.programs.drop(load.Drop)
	bytes, err := kept(load.Script.Files, func() error { return s.programs.load(q.ctx, q.Program, load) })
	return bytes, s.programs.warnings(q.Program), err
}

func (s *server) call(q *question) (engines.Response, error) {
	q.rest.Objects, q.rest.Held = s.objects, s.objects.Held
	call, err := protocol.ReadCall(q.rest)
	if err != nil {
		return engines.Response{}, fmt.Errorf("%w: %w", errMisread, err)
	}
	program, err := s.programs.get(q.Program)
	if err != nil {
		return engines.Response{}, err
	}
	return program.Run(q.ctx, call)
}

// explained makes an error of the engine's what it is seen from here: only this process
// knows why a context ended.
func explained(q *question, err error) *engines.Error {
	if err == nil {
		return nil
	}
	var e *engines.Error
	if !errors.As(err, &e) {
		return &engines.Error{Kind: engines.Failed, Message: err.Error()}
	}
	if errors.Is(context.Cause(q.ctx), errMemory) {
		return &engines.Error{Kind: engines.Exhausted, Message: protocol.OverMemory(q.Memory), Location: e.Location, Stack: e.Stack}
	}
	return e
}
