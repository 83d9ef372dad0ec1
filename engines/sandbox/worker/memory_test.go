package worker

import (
	"errors"
	"runtime"
	"testing"
)

var errBoom = errors.New("boom")

func TestMeasureLoad(t *testing.T) {
	cases := map[string]struct {
		reason string
		source int
		err    error
	}{
		"large":  {"the live heap is measured", largeSource, nil},
		"small":  {"estimated from the allocations", 100, nil},
		"failed": {"the error is returned", 100, errBoom},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			var program []byte
			got, err := measureLoad(c.source, func() error {
				program = make([]byte, 10<<20)
				clear(make([]byte, 20<<20))
				return c.err
			})
			runtime.KeepAlive(program)
			if !errors.Is(err, c.err) || got < 9<<20 || got > 11<<20 {
				t.Errorf("%d bytes, error %v, want ten MiB and error %v", got, err, c.err)
			}
		})
	}
}
