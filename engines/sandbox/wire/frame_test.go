package wire_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

func TestFrames(t *testing.T) {
	stream := bytes.Clone(wire.Finish(append(wire.Begin(nil), "one"...)))
	stream = append(stream, wire.Finish(wire.Begin(nil))...)
	r := bytes.NewReader(stream)
	for _, want := range []string{"one", ""} {
		if got, err := wire.ReadFrame(r, 3); err != nil || string(got) != want {
			t.Errorf("read %q, error %v, want %q", got, err, want)
		}
	}
	if _, err := wire.ReadFrame(r, 3); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: error %v", err)
	}
	if _, err := wire.ReadFrame(bytes.NewReader(stream), 2); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("beyond the limit: error %v", err)
	}
	if _, err := wire.ReadFrame(bytes.NewReader(stream[:5]), 3); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a frame that is cut: error %v", err)
	}
}
