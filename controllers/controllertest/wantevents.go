package controllertest

import (
	"fmt"
	"regexp"

	"github.com/libretto-k8s/libretto/controllers/simulation"
)

// compareEvents compares the events that were emitted in the step.
func (c *comparison) compareEvents() {
	var emitted []simulation.Event
	var seen []string
	for _, pass := range c.passes {
		emitted = append(emitted, pass.Events...)
	}
	for _, e := range emitted {
		seen = append(seen, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
	}
	for i, want := range c.want.Events {
		if c.ctx.Err() == nil && want.among(emitted) < 0 {
			c.mismatchf(fmt.Sprintf(".want.events[%d]", i), "there is no such event: there are %s", quotedList(seen))
		}
	}
	for i, unwanted := range c.want.AbsentEvents {
		if at := unwanted.among(emitted); c.ctx.Err() == nil && at >= 0 {
			c.mismatchf(fmt.Sprintf(".want.absentEvents[%d]", i), "there is the event %q, want no such event", seen[at])
		}
	}
}

// among returns the index of the first event that matches, or -1.
func (w Event) among(events []simulation.Event) int {
	message := regexp.MustCompile(w.Message)
	for i, e := range events {
		is := (w.Type == "" || w.Type == e.Type) && (w.Reason == "" || w.Reason == e.Reason)
		if is && message.MatchString(e.Message) {
			return i
		}
	}
	return -1
}
