package protocol

import (
	"errors"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

func TestManyUsedFiles(t *testing.T) {
	e := wire.NewEncoder(nil)
	appendUsed(e, make([]engines.UsedFile, maxUsed))
	if files, err := readUsed(wire.NewDecoder(e.Bytes())); err != nil || len(files) != maxUsed {
		t.Errorf("%d files, error %v", len(files), err)
	}
	e = wire.NewEncoder(nil)
	appendUsed(e, make([]engines.UsedFile, maxUsed+1))
	if files, err := readUsed(wire.NewDecoder(e.Bytes())); err != nil || files != nil {
		t.Errorf("of more it is reported that all are used: %d files, error %v", len(files), err)
	}
	e = wire.NewEncoder(nil)
	e.Bool(true)
	e.Strings(make([]string, maxUsed+1))
	e.String(strings.Repeat("\x00", maxUsed+1))
	if _, err := readUsed(wire.NewDecoder(e.Bytes())); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a worker that sends more: error %v", err)
	}
}
