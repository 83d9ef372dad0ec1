// Package protocol defines the messages between the host and its script workers.
//
// A worker first sends Ready. Then the host sends one question at a time (Load or Call), and the worker
// answers each (Answer). Only Cancel may come in between. Questions are numbered, so that a late Cancel
// does not cancel the next one.
package protocol

import (
	"errors"
	"fmt"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// Kinds of messages. A payload begins with its kind.
const (
	KindReady uint64 = iota + 1
	KindLoad
	KindCall
	KindCancel
	KindAnswer
)

const (
	// MaxRequestBytes bounds an encoded request.
	MaxRequestBytes = 16 << 20
	// MaxResponseBytes bounds the encoded body of a response.
	MaxResponseBytes = 8 << 20
	// MaxResponseMemory bounds the memory that the body of a response takes in the host.
	MaxResponseMemory = engines.MaxResponseMemory
	// memoryPerByte is how much memory an encoded byte may take once it is decoded.
	memoryPerByte = MaxResponseMemory / MaxResponseBytes
	// MaxLogBytes bounds the logs of one call.
	MaxLogBytes = 64 << 10
	// MaxSourceBytes bounds the total size of a script's files, with their paths.
	MaxSourceBytes = engines.MaxSourceBytes + 2<<20
	// MaxQuestion bounds a frame to a worker: a request or a source, and the other fields.
	MaxQuestion = MaxRequestBytes + 4<<20
	// MaxAnswer bounds a frame to the host: a body, logs and an error.
	MaxAnswer = MaxResponseBytes + 1<<20
)

// Ready is a worker's first message. It lists the confinement measures; a measure that is not in force
// has a reason.
type Ready struct{ Report map[string]string }

// Append appends the encoded message.
func (r Ready) Append(e *wire.Encoder) {
	e.Uint(KindReady)
	e.Uint(uint64(len(r.Report)))
	for measure, reason := range r.Report {
		e.String(measure)
		e.String(reason)
	}
}

// ReadReady decodes what Append wrote.
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
