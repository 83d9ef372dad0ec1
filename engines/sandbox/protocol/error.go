package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// Causes of errors. Other causes are not transmitted.
const (
	causeNone uint64 = iota
	causeDeadline
	causeCanceled
)

// maxFrames bounds the stack of an error.
const maxFrames = 64

func appendError(e *wire.Encoder, err *engines.Error) {
	e.Bool(err != nil)
	if err == nil {
		return
	}
	err = err.Bounded()
	e.Int(int64(err.Kind))
	e.String(err.Location.File)
	e.Int(int64(err.Location.Line))
	e.Int(int64(err.Location.Column))
	e.String(err.Message)
	e.Strings(err.Stack)
	e.Int(int64(err.RetryAfter))
	switch {
	case errors.Is(err.Err, context.DeadlineExceeded):
		e.Uint(causeDeadline)
	case errors.Is(err.Err, context.Canceled):
		e.Uint(causeCanceled)
	default:
		e.Uint(causeNone)
	}
}

// maxErrors bounds a list of errors. The rest is not transmitted.
const maxErrors = 16

func appendErrors(e *wire.Encoder, list []*engines.Error) {
	list = list[:min(len(list), maxErrors)]
	e.Uint(uint64(len(list)))
	for _, err := range list {
		appendError(e, err)
	}
}

func readErrors(d *wire.Decoder) ([]*engines.Error, error) {
	n, err := d.Uint()
	if err != nil || n > maxErrors {
		return nil, errors.Join(err, wire.ErrMalformed)
	}
	var list []*engines.Error
	for range n {
		e, err := readError(d)
		if err != nil || e == nil {
			return nil, errors.Join(err, wire.ErrMalformed)
		}
		list = append(list, e)
	}
	return list, nil
}

func readError(d *wire.Decoder) (*engines.Error, error) {
	present, err := d.Bool()
	if err != nil || !present {
		return nil, err
	}
	e := &engines.Error{}
	var numbers [4]int64
	read := func(n int) {
		if err == nil {
			numbers[n], err = d.Int()
		}
	}
	text := func(s *string) {
		if err == nil {
			*s, err = d.String()
		}
	}
	read(0)
	text(&e.Location.File)
	read(1)
	read(2)
	text(&e.Message)
	if err == nil {
		e.Stack, err = readStack(d)
	}
	read(3)
	if err != nil {
		return nil, err
	}
	e.Kind, e.Location.Line, e.Location.Column = engines.Kind(numbers[0]), int(numbers[1]), int(numbers[2])
	e.RetryAfter = time.Duration(numbers[3])
	if e.Kind == engines.Busy {
		e.Kind = engines.Failed // That is for the host to say.
	}
	e = e.Bounded() // The worker may send anything.
	return e, readCause(d, e)
}

func readStack(d *wire.Decoder) ([]string, error) {
	stack, err := d.Strings()
	if err != nil || len(stack) == 0 {
		return nil, err
	}
	return stack[:min(len(stack), maxFrames)], nil
}

func readCause(d *wire.Decoder, e *engines.Error) error {
	cause, err := d.Uint()
	switch cause {
	case causeDeadline:
		e.Err = context.DeadlineExceeded
	case causeCanceled:
		e.Err = context.Canceled
	}
	return err
}

// MemoryLimitMessage returns the message for a script that exceeded its memory limit.
func MemoryLimitMessage(budget int64) string {
	return fmt.Sprintf("the script uses more than its memory limit of %dMi: have it hold less at once, or raise limits.memory of the script",
		budget>>20)
}
