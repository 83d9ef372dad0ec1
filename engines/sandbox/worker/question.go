package worker

import (
	"context"
	"errors"
	"sync"

	"github.com/libretto-k8s/libretto/engines/sandbox/owntime"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// errMemory is the cause that cancels a question which uses too much memory.
var errMemory = errors.New("over the memory limit")

// question is a question of the host, with the context in which it is answered.
type question struct {
	protocol.Question
	body *wire.Decoder
	ctx  context.Context
	// cancel ends ctx, with errMemory or context.Canceled as its cause. At its end that is context.DeadlineExceeded.
	cancel context.CancelCauseFunc
}

func parseQuestion(payload []byte) (*question, error) {
	d := wire.NewDecoder(payload)
	head, err := protocol.ReadQuestion(d)
	if err != nil {
		return nil, err
	}
	q := &question{Question: head, body: d}
	if head.Kind != protocol.KindCancel {
		q.start()
	}
	return q, nil
}

// start starts the question's timeout, which is of this process's own time.
func (q *question) start() {
	ctx, stop := context.WithCancelCause(context.Background())
	limit := owntime.Start(0, q.Timeout, 0, func(owntime.End) { stop(context.DeadlineExceeded) })
	q.ctx = ctx
	q.cancel = func(cause error) {
		stop(cause)
		limit.Stop()
	}
}

// current holds the question that is being answered.
type current struct {
	mu sync.Mutex
	q  *question
}

func (c *current) set(q *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.q = q
}

// clear is called when the question has been answered.
func (c *current) clear(q *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.q == q {
		c.q = nil
	}
}

// cancel cancels the question with that number, if it is still being answered.
func (c *current) cancel(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.q != nil && c.q.Number == number {
		c.q.cancel(context.Canceled)
	}
}
