package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// Loop makes passes, with the acts of other controllers between them.
type Loop struct {
	Session *simulation.Session
	Clock   *clocktesting.FakeClock
	// Pass makes one pass over each parent.
	Pass func(context.Context) (PassResult, error)
	// Ready selects the objects that other controllers make ready between the passes.
	Ready func(*unstructured.Unstructured) bool
	// Warn is called with why objects cannot be made ready.
	Warn func(string)
}

// PassResult says what one pass over all parents did.
type PassResult int

// The results, by weight.
const (
	Nothing PassResult = iota
	Waiting            // A pass asks to be repeated.
	Written
)

// PassResultOf returns the result of a pass over one parent.
func PassResultOf(result simulation.Result) PassResult {
	for _, write := range result.Writes {
		if write.Err == nil {
			return Written
		}
	}
	if errors.Is(result.Err, controller.ErrLater) {
		return Waiting
	}
	return Nothing
}

// UnsettledError is the error of passes that do not come to an end.
type UnsettledError struct {
	Message string
	// Waiting is set if the passes write nothing, and only ask to be repeated.
	Waiting bool
}

// Error returns the message.
func (e *UnsettledError) Error() string { return e.Message }

func unsettled(format string, args ...any) error {
	return &UnsettledError{Message: fmt.Sprintf(format, args...)}
}

const (
	// maxPasses is how many passes are made over each parent at most.
	maxPasses = 1000
	// maxLater is how many passes in a row may ask for another one without writing anything.
	maxLater = 10
)

// Run makes as many passes as given, or with 0 until nothing changes any more. Each but the first is a second after the one before.
// It returns an *UnsettledError if they do not come to an end.
func (l *Loop) Run(ctx context.Context, passes int) error {
	later, seen := 0, repetition{}
	for number := 1; ; number++ {
		moved, err := l.Pass(ctx)
		switch {
		case ctx.Err() != nil:
			return unsettled("it has not settled in time, after %d passes", number)
		case err != nil:
			return err
		case number == passes:
			return nil
		}
		changed, err := l.runOthers(ctx)
		if err != nil {
			return err
		}
		switch changed = changed || moved == Written; {
		case passes > 0:
		case number == maxPasses:
			return unsettled("it has not settled after %d passes", number)
		case changed:
			later = 0
			if err := seen.check(number, l.Session.Cluster().Objects()); err != nil {
				return err
			}
		case moved == Nothing:
			return nil
		case later == maxLater:
			return &UnsettledError{Message: fmt.Sprintf("it does not settle: the last %d passes only ask to be repeated", later+1), Waiting: true}
		default:
			later++
		}
		l.Clock.Step(time.Second)
	}
}

// runOthers acts as other controllers, and reports whether they changed anything.
func (l *Loop) runOthers(ctx context.Context) (bool, error) {
	others, err := l.Session.RunOthers(ctx, l.Ready)
	if err != nil {
		return false, err
	}
	for _, problem := range others.Unready {
		l.Warn("it cannot be made ready: " + problem.Error())
	}
	return len(others.Changed) > 0, nil
}
