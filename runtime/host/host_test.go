package host

import (
	"context"
	"testing"
)

func TestStartReplaces(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	h := New(ctx)
	events := make(chan string, 10)
	loop := func(name string) func(context.Context) {
		return func(ctx context.Context) {
			events <- name + " begins"
			<-ctx.Done()
			events <- name + " ends"
		}
	}
	h.Start("definition", loop("first"))
	expect(t, events, "first begins")
	h.Start("definition", loop("second"))
	expect(t, events, "first ends")
	expect(t, events, "second begins")
	if len(h.runs) != 1 {
		t.Errorf("%d loops, want 1", len(h.runs))
	}
	h.Stop("definition")
	expect(t, events, "second ends")
	h.Stop("definition") // It does nothing for an unknown name.
	h.Start("last", loop("last"))
	cancel()
	h.Wait()
	expect(t, events, "last begins")
	expect(t, events, "last ends")
}

func expect(t *testing.T, events chan string, want string) {
	t.Helper()
	if got := <-events; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
}
