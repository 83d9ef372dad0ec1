package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// errUnsent says that the worker was dead before it got the whole question, so that
// another one can be asked.
var errUnsent = errors.New("the worker is dead")

// errMisread says that the worker could not read the question, and ran nothing.
var errMisread = errors.New("the worker can't read what it is asked")

// keptFrame is how large a buffer may be that is kept for the next question.
const keptFrame = 1 << 20

// load gives the worker a program.
func (w *process) load(ctx context.Context, of *program) (protocol.Answer, outcome, error) {
	load := protocol.Load{Drop: w.programs.room(), Engine: of.engine, Hook: of.hook, Script: of.script}
	answer, o, err := w.ask(ctx, protocol.KindLoad, of, load.Append)
	if err == nil {
		w.programs.add(of.name, min(max(0, answer.Kept), shelfMemory)) // Whatever it claims.
	}
	return answer, o, err
}

// call has the worker call a program that it has. If whole is set, no object is left
// out because the worker has it.
func (w *process) call(ctx context.Context, of *program, call engines.Call, whole bool) (protocol.Answer, outcome, error) {
	w.programs.use(of.name)
	w.objects.trim()
	return w.ask(ctx, protocol.KindCall, of, func(e *wire.Encoder) {
		e.Max = len(e.Bytes()) + protocol.MaxRequestBytes
		if !whole {
			e.Share = w.objects.share
		}
		protocol.Call{Drop: w.objects.drop, Call: call}.Append(e)
	})
}

// ask asks one question and waits for its answer, or for the worker's end, which comes
// soon after ctx is over. The error is errUnsent or an *engines.Error.
func (w *process) ask(ctx context.Context, kind uint64, of *program, rest func(*wire.Encoder)) (protocol.Answer, outcome, error) {
	began := time.Now()
	deadline, _ := ctx.Deadline()
	number := w.number.Add(1)
	w.memory = of.memory
	e := wire.NewEncoder(wire.Begin(w.frame))
	protocol.Question{Kind: kind, Number: number, Left: time.Until(deadline), Memory: of.memory, Kept: reserved(w.kept()), Program: of.name}.Append(e)
	if rest(e); e.Err() != nil {
		w.objects.unsent()
		return protocol.Answer{}, untold, unaskable(e.Err())
	}
	frame := wire.Finish(e.Bytes())
	if w.frame = nil; cap(frame) <= keptFrame {
		w.frame = frame
	}
	w.stderr.empty()
	inTime := w.killAfter(time.Until(deadline)+w.grace, becauseDeadline)
	defer inTime()
	if _, err := w.in.Write(frame); err != nil {
		w.kill(becauseCrash)
		return protocol.Answer{}, untold, errUnsent
	}
	if kind == protocol.KindCall {
		w.objects.sent()
	}
	payload := w.wait(ctx, inTime)
	if payload == nil {
		return protocol.Answer{}, w.death.outcome(), w.death.err(time.Since(began), of.memory)
	}
	return w.read(payload)
}

// wait gives the next answer, or nil once the worker is gone.
func (w *process) wait(ctx context.Context, inTime func()) []byte {
	over := ctx.Done()
	for {
		select {
		case payload := <-w.answers:
			return payload
		case <-w.gone:
			select {
			case payload := <-w.answers: // It was the last that it said.
				return payload
			default:
				return nil
			}
		case <-over:
			over = nil
			if errors.Is(ctx.Err(), context.Canceled) {
				inTime()
				defer w.killAfter(w.grace, becauseCanceled)()
				w.cancel()
			}
		}
	}
}

// cancel tells the worker that nobody waits any more. If that does not reach it, it is killed.
func (w *process) cancel() {
	e := wire.NewEncoder(wire.Begin(nil))
	protocol.AppendCancel(e, w.number.Load())
	_, _ = w.in.Write(wire.Finish(e.Bytes()))
}

// read makes an outcome of an answer. A worker that says anything else is not asked again.
func (w *process) read(payload []byte) (protocol.Answer, outcome, error) {
	answer, err := protocol.ReadAnswer(payload, w.objects.held)
	if err == nil && answer.Number != w.number.Load() {
		err = fmt.Errorf("it answered question %d, not %d", answer.Number, w.number.Load())
	}
	if err != nil {
		w.kill(becauseProtocol)
		return protocol.Answer{}, fatal, &engines.Error{Kind: engines.Failed, Message: "script worker crashed: " + err.Error()}
	}
	w.spent = answer.Spent
	if answer.Misread {
		w.kill(becauseProtocol)
		return protocol.Answer{}, untold, errMisread
	}
	if answer.Err != nil {
		return answer, answered, answer.Err
	}
	return answer, answered, nil
}

// unaskable is the error of a question that can't be written down.
func unaskable(err error) *engines.Error {
	if errors.Is(err, wire.ErrTooLarge) {
		return &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf(
			"the request is larger than %d MiB: let the hook select fewer objects", protocol.MaxRequestBytes>>20)}
	}
	return &engines.Error{Kind: engines.Failed, Message: "the request: " + err.Error()}
}
