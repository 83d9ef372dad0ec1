package protocol

import (
	"errors"
	"fmt"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// Answer is what a worker says to a question. For a Load there is no response.
type Answer struct {
	Number   uint64
	Response engines.Response
	// Err is nil if all went well.
	Err *engines.Error
	// Spent says that the worker is of no more use: it came close to its memory's end.
	Spent bool
	// Misread says that the question could not be read, and nothing was run.
	Misread bool
	// Kept is how much memory the program takes that was loaded, in bytes.
	Kept int64
	// Warnings are those of the program that was loaded.
	Warnings []*engines.Error
}

// Append writes it down, but for what the host has of it: the objects. A body that
// can't be written is an error instead.
func (a Answer) Append(frame []byte, objects *wire.Objects) []byte {
	e := a.encoded(frame, objects)
	if err := e.Err(); err != nil {
		a.Response.Body, a.Err = nil, unfit(err)
		e = a.encoded(frame, objects)
	}
	return e.Bytes()
}

func (a Answer) encoded(frame []byte, objects *wire.Objects) *wire.Encoder {
	e := wire.NewEncoder(frame)
	e.Uint(KindAnswer)
	e.Uint(a.Number)
	e.Bool(a.Spent)
	e.Bool(a.Misread)
	e.Int(a.Kept)
	appendErrors(e, a.Warnings)
	e.Bool(a.Response.TimeDependent)
	e.Bool(a.Response.Remote)
	e.Bool(a.Response.Unread != nil)
	e.Strings(a.Response.Unread)
	e.Strings(Cut(a.Response.Logs))
	appendError(e, a.Err)
	e.Max, e.Share, e.Again = len(e.Bytes())+MaxResponseBytes, objects.Share, true
	e.Value(a.Response.Body)
	return e
}

func unfit(err error) *engines.Error {
	if errors.Is(err, wire.ErrTooLarge) {
		return &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf("the response is larger than %d MiB", MaxResponseBytes>>20)}
	}
	return &engines.Error{Kind: engines.BadResponse, Message: "the response " + err.Error()}
}

// Cut keeps the lines that fit, and says in a last one if some did not.
func Cut(lines []string) []string {
	left := MaxLogBytes + 1<<10 // What engines cut themselves passes, with its last line.
	for i, line := range lines {
		if left -= len(line) + 1; left < 0 {
			return append(lines[:i:i], fmt.Sprintf("(cut at %d KiB)", MaxLogBytes>>10))
		}
	}
	return lines
}

// ReadAnswer reads what Append wrote. Nothing in it is part of the message. held gives
// the objects that the worker has, and the bytes that they were sent as. An answer
// whose body takes too much memory, or would if it held copies of these, is one with an error.
func ReadAnswer(payload []byte, held func(number uint64) (m map[string]any, bytes int)) (a Answer, err error) {
	d := wire.NewDecoder(payload)
	d.Copy, d.Memory, d.Again = true, MaxResponseMemory, memoryOfByte
	d.Held = func(number uint64) (map[string]any, int) {
		m, bytes := held(number)
		return m, bytes * memoryOfByte
	}
	if err := expect(d, KindAnswer); err != nil {
		return a, err
	}
	if a.Number, err = d.Uint(); err != nil {
		return a, err
	}
	if a.Spent, err = d.Bool(); err != nil {
		return a, err
	}
	if a.Misread, err = d.Bool(); err != nil {
		return a, err
	}
	if a.Kept, err = d.Int(); err != nil {
		return a, err
	}
	if a.Warnings, err = readErrors(d); err != nil {
		return a, err
	}
	if err := readNotes(d, &a.Response); err != nil {
		return a, err
	}
	if a.Err, err = readError(d); err != nil {
		return a, err
	}
	a.Response.Body, err = d.Value()
	if errors.Is(err, wire.ErrTooLarge) {
		a.Err, err = unfit(err), nil
	}
	return a, err
}

func readNotes(d *wire.Decoder, r *engines.Response) (err error) {
	if r.TimeDependent, err = d.Bool(); err != nil {
		return err
	}
	if r.Remote, err = d.Bool(); err != nil {
		return err
	}
	knows, err := d.Bool()
	if err != nil {
		return err
	}
	if r.Unread, err = d.Strings(); err != nil {
		return err
	}
	if !knows {
		r.Unread = nil
	}
	if r.Logs, err = d.Strings(); err != nil {
		return err
	}
	r.Logs = Cut(r.Logs)
	if len(r.Logs) == 0 {
		r.Logs = nil
	}
	return nil
}
