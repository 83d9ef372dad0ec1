package webhook

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// TestDecodingsAreBounded checks that a large answer waits while others are decoded, until its call's deadline,
// and that a small one does not.
func TestDecodingsAreBounded(t *testing.T) {
	answers := map[string][]byte{
		"/large": mustMarshal(desired(2000)), "/small": mustMarshal(desired(10)), "/broken": repeated(`{"":0} }`, 1<<20),
		"/tooMuch": repeated(`{"":0}`, 4<<20),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(answers[r.URL.Path]) }))
	defer server.Close()
	hooks, err := Definition().New(engines.Config{})
	if err != nil {
		t.Fatal(err)
	}
	memory := hooks.(*engine).decodings.memory
	run := func(path string, within time.Duration) error {
		program, err := hooks.Compile(t.Context(), engines.Source{Endpoint: &engines.Endpoint{URL: server.URL + path}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err = program.Run(ctx, engines.Call{})
		return err
	}

	if !memory.TryAcquire(maxDecodingMemory) {
		t.Fatal("something is being decoded")
	}
	if err := run("/large", 2*time.Second); engines.KindOf(err) != engines.Timeout {
		t.Errorf("a large answer for which there is no room: error %v, want a timeout", err)
	}
	if err := run("/small", time.Minute); err != nil {
		t.Errorf("a small answer waits for large ones: %v", err)
	}
	waiting := make(chan error)
	go func() { waiting <- run("/large", time.Minute) }()
	memory.Release(maxDecodingMemory)
	if err := <-waiting; err != nil {
		t.Errorf("there is room again: %v", err)
	}

	for path, want := range map[string]engines.Kind{"/broken": engines.BadResponse, "/tooMuch": engines.Exhausted} {
		if err := run(path, time.Minute); engines.KindOf(err) != want {
			t.Errorf("%s: error %v, want %v", path, err, want)
		}
	}
	if !memory.TryAcquire(maxDecodingMemory) {
		t.Error("room is lost after answers that were refused")
	}
}

// TestDecodingsHaveRoom checks that any answer is decoded if it is alone, and which are not counted.
func TestDecodingsHaveRoom(t *testing.T) {
	for name, tc := range map[string]struct {
		text    []byte
		counted bool
	}{
		"Small":  {mustMarshal(desired(10)), false},
		"Text":   {[]byte(`"` + string(make([]byte, 1<<20)) + `"`), false},
		"Large":  {mustMarshal(desired(7000)), true},
		"Worst":  {repeated(`{"":0}`, 8<<20), true},
		"Nested": {repeated(`[`, 8<<20), true},
	} {
		d := newDecodings()
		release, err := d.acquire(t.Context(), tc.text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d.memory.TryAcquire(maxDecodingMemory) == tc.counted {
			t.Errorf("%s: counted is not %v", name, tc.counted)
		}
		release()
	}
}
