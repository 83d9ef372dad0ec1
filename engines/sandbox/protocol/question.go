package protocol

import (
	"time"

	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// Question is the head of every question.
type Question struct {
	Kind   uint64
	Number uint64
	// Timeout is how much time of its own the worker has to answer.
	Timeout time.Duration
	// Memory is how many bytes the worker may use for the answer, beside CachedBytes.
	Memory int64
	// CachedBytes is about how much memory the programs and objects take that the worker keeps for later
	// calls.
	CachedBytes int64
	// Program names the program to load or call.
	Program string
}

// Append appends the encoded head.
func (q Question) Append(e *wire.Encoder) {
	e.Uint(q.Kind)
	e.Uint(q.Number)
	e.Int(int64(q.Timeout))
	e.Int(q.Memory)
	e.Int(q.CachedBytes)
	e.String(q.Program)
}

// ReadQuestion decodes the head of a message. The rest is decoded according to its Kind.
func ReadQuestion(d *wire.Decoder) (q Question, err error) {
	if q.Kind, err = d.Uint(); err != nil {
		return q, err
	}
	if q.Number, err = d.Uint(); err != nil || q.Kind == KindCancel {
		return q, err
	}
	left, err := d.Int()
	if err != nil {
		return q, err
	}
	q.Timeout = time.Duration(left)
	if q.Memory, err = d.Int(); err != nil {
		return q, err
	}
	if q.CachedBytes, err = d.Int(); err != nil {
		return q, err
	}
	q.Program, err = d.String()
	return q, err
}

// AppendCancel appends a message that cancels the question with that number.
func AppendCancel(e *wire.Encoder, number uint64) {
	e.Uint(KindCancel)
	e.Uint(number)
}
