package controllertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// gatedProgram answers each call by its number when the test lets it.
type gatedProgram struct {
	engines.ProgramBase
	started chan int
	answer  chan struct{}
	mu      sync.Mutex
	calls   int
}

func (p *gatedProgram) Run(ctx context.Context, _ engines.Call) (engines.Response, error) {
	p.mu.Lock()
	p.calls++
	number := p.calls
	p.mu.Unlock()
	p.started <- number
	select {
	case <-p.answer:
		return engines.Response{Body: int64(number)}, nil
	case <-ctx.Done():
		return engines.Response{}, engines.Ended(ctx)
	}
}

// TestRememberAtOnce checks that equal calls at the same time run the program once, and that one that is cancelled leaves the other to run it.
func TestRememberAtOnce(t *testing.T) {
	for name, cancelled := range map[string]bool{"answered": false, "cancelled": true} {
		t.Run(name, func(t *testing.T) {
			gated := &gatedProgram{started: make(chan int, 2), answer: make(chan struct{})}
			program := Remember(map[string]engines.Program{"sync": gated})["sync"]
			call := engines.Call{Request: map[string]any{"parent": map[string]any{}}, Now: time.Unix(1, 0)}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first, second := make(chan any, 1), make(chan any, 1)
			run := func(ctx context.Context, answers chan<- any) {
				response, err := program.Run(ctx, call)
				if err != nil {
					answers <- engines.KindOf(err)
					return
				}
				answers <- response.Body
			}
			go run(ctx, first)
			<-gated.started
			go run(t.Context(), second)
			want := any(int64(1))
			if cancelled {
				cancel()
				if got := <-first; got == want {
					t.Errorf("a cancelled call got %v", got)
				}
				<-gated.started
				want = int64(2)
			}
			close(gated.answer)
			if got := <-second; got != want {
				t.Errorf("the second call got %v, want %v", got, want)
			}
			if !cancelled {
				if got := <-first; got != want {
					t.Errorf("the first call got %v, want %v", got, want)
				}
			}
			if third, err := program.Run(t.Context(), call); err != nil || third.Body != want {
				t.Errorf("a later call got %v and %v, want %v", third.Body, err, want)
			}
		})
	}
}
