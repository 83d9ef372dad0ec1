// Package protocol is what the host and its script workers say to each other.
//
// A worker first says Ready. Then the host asks, one question at a time (Load or
// Call), and the worker answers each (Answer). Only Cancel may come in between.
// Questions have numbers, so that a late Cancel can't hit the next one.
package protocol

import (
	"errors"
	"fmt"

	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// What a frame's payload begins with.
const (
	KindReady uint64 = iota + 1
	KindLoad
	KindCall
	KindCancel
	KindAnswer
)

const (
	// MaxRequestBytes bounds a request, as it is written down for the worker.
	MaxRequestBytes = 16 << 20
	// MaxResponseBytes bounds the body of a response, as it is written down for the host.
	MaxResponseBytes = 8 << 20
	// MaxResponseMemory bounds what the body of a response takes in the host's memory.
	MaxResponseMemory = memoryOfByte * MaxResponseBytes
	// memoryOfByte is what a byte of a message may take in memory, once it is read.
	memoryOfByte = 12
	// MaxLogBytes bounds what one call may log.
	MaxLogBytes = 64 << 10
	// MaxSourceBytes bounds the files of a script together.
	MaxSourceBytes = 1 << 20
	// MaxQuestion bounds a frame to a worker: a request, or a source, and what belongs to it.
	MaxQuestion = MaxRequestBytes + 4<<20
	// MaxAnswer bounds a frame to the host: a body, logs and an error.
	MaxAnswer = MaxResponseBytes + 1<<20
)

// Ready is the first that a worker says: which of its limits are not in force, and why.
type Ready struct{ Report map[string]string }

// Append writes it down.
func (r Ready) Append(e *wire.Encoder) {
	e.Uint(KindReady)
	e.Uint(uint64(len(r.Report)))
	for measure, why := range r.Report {
		e.String(measure)
		e.String(why)
	}
}

// ReadReady reads what Append wrote.
func ReadReady(payload []byte) (Ready, error) {
	d := wire.NewDecoder(payload)
	d.Copy = true
	r := Ready{Report: map[string]string{}}
	if err := expect(d, KindReady); err != nil {
		return r, err
	}
	n, err := d.Uint()
	if err != nil || n > uint64(d.Len()) {
		return r, errors.Join(err, wire.ErrMalformed)
	}
	for range n {
		measure, err := d.String()
		if err != nil {
			return r, err
		}
		if r.Report[measure], err = d.String(); err != nil {
			return r, err
		}
	}
	return r, nil
}

func expect(d *wire.Decoder, kind uint64) error {
	got, err := d.Uint()
	if err == nil && got != kind {
		err = fmt.Errorf("%w: of kind %d, not %d", wire.ErrMalformed, got, kind)
	}
	return err
}
