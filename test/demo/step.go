package main

import (
	"context"
	"fmt"
	"time"
)

// step is one thing that the demo shows.
type step struct {
	title string
	why   string // what happens and why it matters, in plain words
	run   func(context.Context) error
}

// outcome is how a step went.
type outcome struct {
	took time.Duration
	err  error
}

// play runs the steps until one fails, and returns the outcomes of those that were run.
func play(ctx context.Context, out *report, steps []step) ([]outcome, error) {
	var outcomes []outcome
	for i, s := range steps {
		out.heading(i+1, len(steps), s)
		start := time.Now()
		err := s.run(ctx)
		outcomes = append(outcomes, outcome{took: time.Since(start), err: err})
		if err != nil {
			return outcomes, fmt.Errorf("step %d, %s: %w", i+1, s.title, err)
		}
	}
	return outcomes, nil
}

// unmet is the error of a step that waited in vain.
type unmet struct {
	expected string
	limit    time.Duration
	seen     string
}

func (e unmet) Error() string {
	return fmt.Sprintf("expected within %s: %s; last seen: %s", duration(e.limit), e.expected, e.seen)
}
