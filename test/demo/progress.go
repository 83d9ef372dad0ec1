package main

import "time"

// How often it is said that something lasts: on a terminal the line is written over, in a log each is one more.
const (
	terminalTick = 200 * time.Millisecond
	logTick      = 5 * time.Second
)

// during runs a task and, while it lasts, says so. The task itself must not print.
func (r *report) during(what string, task func() error) error {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		r.progress(what, stop)
	}()
	err := task()
	close(stop)
	<-stopped
	return err
}

// progress tells how long something has lasted, until stop is closed.
func (r *report) progress(what string, stop <-chan struct{}) {
	tick, format, last := logTick, "  ... %s (%s)\n", ""
	if r.terminal {
		// A line that were wrapped could not be written over.
		tick, format, last = terminalTick, "\r\033[K  ... %.60s (%s)", "\r\033[K"
	}
	begin := time.Now()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for shown := false; ; shown = true {
		select {
		case <-ticker.C:
			r.print(format, what, duration(time.Since(begin)))
		case <-stop:
			if shown {
				r.print("%s", last)
			}
			return
		}
	}
}
