package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/owntime"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// errNotSent means that the worker died before it got the whole question. Another worker can be asked.
var errNotSent = errors.New("the worker is dead")

// errUnreadable means that the worker could not decode the question and ran nothing.
var errUnreadable = errors.New("the worker can't read what it is asked")

// maxReusedBuffer is the largest buffer that is kept for the next question.
const maxReusedBuffer = 1 << 20

// load sends a program to the worker, which has limit of its own time to load it.
func (w *process) load(ctx context.Context, prog *program, limit time.Duration) (protocol.Answer, outcome, error) {
	load := protocol.Load{Evict: w.caches.programs.evict(&w.caches.texts), Engine: prog.engine, Hook: prog.hook, Script: prog.script}
	var texts map[string]*cachedText
	load.Files, texts = w.caches.texts.share(prog, func(c content) bool { return prog.pool.isChecked(prog, c) })
	load.EvictTexts = w.caches.texts.evict()
	answer, o, err := w.ask(ctx, protocol.KindLoad, prog, limit, load.Append)
	if err == nil {
		prog.setUsed(answer.Files)
		prog.pool.setChecked(prog, answer.Files)
		w.caches.programs.add(prog.name, min(max(0, answer.ProgramBytes), maxProgramMemory)) // The worker may claim anything.
	}
	w.keepTexts(prog, texts, err == nil)
	return answer, o, err
}

// keepTexts is called after a load, and keeps those texts for the program that it consists of. Others are released: they stay with the
// worker only as long as there is room.
func (w *process) keepTexts(prog *program, texts map[string]*cachedText, loaded bool) {
	for path, text := range texts {
		if loaded && prog.uses(path) {
			w.caches.programs.addText(prog.name, text)
		} else {
			w.caches.texts.release(text)
		}
	}
}

// call sends the call of a task, whose program the worker has.
func (w *process) call(ctx context.Context, prog *program, t task) (protocol.Answer, outcome, error) {
	w.caches.programs.use(prog.name)
	w.caches.objects.evict()
	return w.ask(ctx, protocol.KindCall, prog, t.limit, func(e *wire.Encoder) {
		e.Max = len(e.Bytes()) + protocol.MaxRequestBytes
		if !t.resendObjects {
			e.Share = w.caches.objects.share
		}
		protocol.Call{Evict: w.caches.objects.evicted, Call: t.call}.Append(e)
	})
}

// ask sends one question and waits for its answer, or for the worker's exit, which comes soon after the worker has had limit for itself, or
// ctx is over. The error is errNotSent, errUnreadable or an *engines.Error.
func (w *process) ask(
	ctx context.Context, kind uint64, prog *program, limit time.Duration, rest func(*wire.Encoder),
) (protocol.Answer, outcome, error) {
	w.questions.Add(1)
	w.number = rand.Uint64() // A worker can't know it, and answer, before it is asked.
	w.budget = prog.memory
	e := wire.NewEncoder(wire.Begin(w.buffer))
	protocol.Question{Kind: kind, Number: w.number, Timeout: limit, Memory: prog.memory, CachedBytes: reservedMemory(w.cachedBytes()),
		Program: prog.name}.Append(e)
	if rest(e); e.Err() != nil { // Nothing was sent, so that the worker has none of the objects that this question would have shared.
		w.caches.objects.rollback()
		return protocol.Answer{}, inconclusive, encodeError(e.Err())
	}
	frame := wire.Finish(e.Bytes())
	if w.buffer = nil; cap(frame) <= maxReusedBuffer {
		w.buffer = frame
	}
	w.pipes.stderr.reset()
	deadline := w.killAtDeadline(limit+w.grace, reasonDeadline)
	// The budget pays for the worker's own time, and not for what it waits for a processor on a busy machine.
	defer func() { engines.SpendBudget(ctx, deadline.Stop()) }()
	if !w.send(frame) {
		w.kill(reasonCrash)
		return protocol.Answer{}, inconclusive, errNotSent
	}
	if kind == protocol.KindCall {
		w.caches.objects.commit()
	}
	payload := w.receive(ctx, deadline)
	if payload == nil {
		exit := w.exit
		exit.cached, exit.limit = w.cachedBytes(), limit
		return protocol.Answer{}, exit.outcome(), exit.err(prog.memory)
	}
	return w.decodeAnswer(payload)
}

// send sends a question. It reports whether the worker was waiting for one and could be sent all of it.
func (w *process) send(frame []byte) bool {
	if !w.pipes.sender.CompareAndSwap(hostSends, workerSends) {
		return false
	}
	_, err := w.pipes.stdin.Write(frame)
	return err == nil
}

// receive returns the next answer, or nil once the worker has exited.
func (w *process) receive(ctx context.Context, deadline *owntime.Limit) []byte {
	done := ctx.Done()
	for {
		select {
		case payload := <-w.pipes.answers:
			return payload
		case <-w.exited:
			select {
			case payload := <-w.pipes.answers: // It was sent before the exit.
				return payload
			default:
				return nil
			}
		case <-done:
			done = nil
			if errors.Is(ctx.Err(), context.Canceled) {
				defer w.killAfter(w.grace, reasonCanceled)()
				w.sendCancel()
			} else { // The worker answers by itself if all of the time was its own.
				defer time.AfterFunc(w.grace, deadline.Expire).Stop()
			}
		}
	}
}

// sendCancel tells the worker to stop. A worker that does not is killed after the grace period.
func (w *process) sendCancel() {
	e := wire.NewEncoder(wire.Begin(nil))
	protocol.AppendCancel(e, w.number)
	_, _ = w.pipes.stdin.Write(wire.Finish(e.Bytes()))
}

// decodeAnswer decodes an answer. A worker that sends anything else is killed.
func (w *process) decodeAnswer(payload []byte) (protocol.Answer, outcome, error) {
	answer, err := protocol.ReadAnswer(payload, w.caches.objects.get)
	if err == nil && answer.Number != w.number {
		err = errors.New("it answered another question than the one it was asked")
	}
	if err != nil {
		w.kill(reasonProtocol)
		return protocol.Answer{}, fatal, &engines.Error{Kind: engines.Failed, Message: "script worker crashed: " + err.Error()}
	}
	w.nearLimit = answer.NearLimit
	w.caches.engineMemory = min(max(0, answer.CachedBytes), maxEngineMemory)
	if answer.Unreadable { // The caches of both sides differ, which is no fault of the program: another worker starts from nothing.
		w.kill(reasonProtocol)
		return protocol.Answer{}, inconclusive, errUnreadable
	}
	if answer.Err != nil {
		return answer, answered, answer.Err
	}
	return answer, answered, nil
}

// encodeError returns the error of a question that can't be encoded.
func encodeError(err error) *engines.Error {
	if errors.Is(err, wire.ErrTooLarge) {
		return &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf(
			"the request is larger than %d MiB: let the hook select fewer objects", protocol.MaxRequestBytes>>20)}
	}
	return &engines.Error{Kind: engines.Failed, Message: "the request: " + err.Error()}
}
