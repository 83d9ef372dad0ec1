package protocol

import (
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// Call asks the worker to call a program.
type Call struct {
	// Evict lists the IDs of objects to drop first.
	Evict []uint64
	Call  engines.Call
}

// Append appends the encoded call. It comes after its Question.
func (c Call) Append(e *wire.Encoder) {
	e.Uint(uint64(len(c.Evict)))
	for _, id := range c.Evict {
		e.Uint(id)
	}
	e.Int(c.Call.Now.Unix())
	e.Uint(uint64(c.Call.Now.Nanosecond()))
	e.Strings([]string{c.Call.Seed, c.Call.Subject, c.Call.Owner})
	e.Value(c.Call.Request)
}

// ReadCall decodes what Append wrote. It updates d.Objects as the message says. The request shares
// memory with the message.
func ReadCall(d *wire.Decoder) (call engines.Call, err error) {
	if err := evict(d); err != nil {
		return call, err
	}
	seconds, err := d.Int()
	if err != nil {
		return call, err
	}
	nanoseconds, err := d.Uint()
	if err != nil {
		return call, err
	}
	call.Now = time.Unix(seconds, int64(nanoseconds)).UTC()
	texts, err := d.Strings()
	if err != nil || len(texts) != 3 {
		return call, wire.ErrMalformed
	}
	call.Seed, call.Subject, call.Owner = texts[0], texts[1], texts[2]
	v, err := d.Value()
	if err != nil {
		return call, err
	}
	request, ok := v.(map[string]any)
	if !ok {
		return call, wire.ErrMalformed
	}
	call.Request = request
	return call, nil
}

func evict(d *wire.Decoder) error {
	n, err := d.Uint()
	if err != nil {
		return err
	}
	for range n {
		id, err := d.Uint()
		if err != nil {
			return err
		}
		d.Objects.Delete(id)
	}
	return nil
}
