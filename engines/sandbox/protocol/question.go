package protocol

import (
	"time"

	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// Question is what every question begins with.
type Question struct {
	Kind   uint64
	Number uint64
	// Left is how long the worker has to answer.
	Left time.Duration
	// Memory is how many bytes it may use for that, beside those for what it keeps.
	Memory int64
	// Kept is how many bytes the programs and objects take that it keeps for later calls, roughly.
	Kept int64
	// Program is the name of the program that it is about.
	Program string
}

// Append writes it down.
func (q Question) Append(e *wire.Encoder) {
	e.Uint(q.Kind)
	e.Uint(q.Number)
	e.Int(int64(q.Left))
	e.Int(q.Memory)
	e.Int(q.Kept)
	e.String(q.Program)
}

// ReadQuestion takes it from the front of a message, of which the rest is read by what its Kind says.
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
	q.Left = time.Duration(left)
	if q.Memory, err = d.Int(); err != nil {
		return q, err
	}
	if q.Kept, err = d.Int(); err != nil {
		return q, err
	}
	q.Program, err = d.String()
	return q, err
}

// AppendCancel writes down that nobody waits for the answer to a question any more.
func AppendCancel(e *wire.Encoder, number uint64) {
	e.Uint(KindCancel)
	e.Uint(number)
}
