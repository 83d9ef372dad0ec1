package worker

import (
	"context"
	"errors"
	"sync"

	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// errMemory is why a question is given up that uses too much memory.
var errMemory = errors.New("over the memory limit")

// question is one that the host has asked, with the context that it is answered in.
type question struct {
	protocol.Question
	rest *wire.Decoder
	ctx  context.Context
	// stop ends ctx, with errMemory or context.Canceled as its cause.
	stop context.CancelCauseFunc
}

func parse(payload []byte) (*question, error) {
	d := wire.NewDecoder(payload)
	head, err := protocol.ReadQuestion(d)
	if err != nil {
		return nil, err
	}
	q := &question{Question: head, rest: d}
	if head.Kind != protocol.KindCancel {
		q.begin()
	}
	return q, nil
}

// begin starts the time that the question has.
func (q *question) begin() {
	ctx, stop := context.WithCancelCause(context.Background())
	ctx, release := context.WithTimeout(ctx, q.Left)
	q.ctx = ctx
	q.stop = func(cause error) {
		stop(cause)
		release()
	}
}

// current is the question that is being answered.
type current struct {
	mu sync.Mutex
	q  *question
}

func (c *current) set(q *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.q = q
}

// unset says that the question has been answered.
func (c *current) unset(q *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.q == q {
		c.q = nil
	}
}

// cancel gives the question of that number up, if it is still being answered.
func (c *current) cancel(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.q != nil && c.q.Number == number {
		c.q.stop(context.Canceled)
	}
}
