// Package owntime measures how much time a process has had for itself: the time that it computes, and the time that it sleeps. The time
// that it waits for a processor, or is stopped, is not its own: a busy machine takes that.
//
// Systems that don't tell (all but Linux) have the time of the wall counted.
package owntime

import (
	"sync"
	"time"
)

// interval is how often a process is looked at.
const interval = 100 * time.Millisecond

// state is what the threads of a process do.
type state int

const (
	running  state = iota // One at least computes, or waits for a processor or a disk.
	sleeping              // All wait for something else.
	stopped               // By a signal or a debugger.
	unknown
)

// End is how a Limit ended.
type End struct {
	// Own is how much time of its own the process had, and Elapsed how much passed.
	Own, Elapsed time.Duration
	// Stopped is set if the process was stopped at the end: the machine did not do that.
	Stopped bool
}

// usage adds up the time of a process.
type usage struct {
	own, elapsed time.Duration
	state        state
}

// add adds what is known of the time since the last look: how much passed, how much processor time all threads used together, and what they
// do now. If far more than interval passed, this process was starved or stopped itself, and could have noticed nothing.
func (u *usage) add(passed, computed time.Duration, now state) {
	seen := min(passed, 2*interval)
	own := min(computed, passed)
	if now == sleeping || now == unknown {
		own = max(own, seen)
	}
	u.own, u.elapsed, u.state = u.own+own, u.elapsed+max(own, seen), now
}

// Limit is a limit on the time of a process.
type Limit struct {
	pid          int
	limit, outer time.Duration
	over         func(End)

	mu       sync.Mutex
	timer    *time.Timer
	done     bool
	at       time.Time
	computed time.Duration
	measured bool // Whether the system tells computed.
	usage    usage
}

// Start calls over once the process has had limit for itself, or once outer has passed in all, unless Stop is called before. Zero for outer
// means never, and zero for the pid this process.
func Start(pid int, limit, outer time.Duration, over func(End)) *Limit {
	l := &Limit{pid: pid, limit: limit, outer: outer, over: over, at: time.Now()}
	l.computed, l.measured = processorTime(pid)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(l.next(), l.look)
	return l
}

// Stop ends the limit, and returns about how much time of its own the process has had. After it, over is not called, and not under way.
func (l *Limit) Stop() (own time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return l.usage.own
	}
	l.done = true
	l.timer.Stop()
	own = time.Since(l.at) // Since the last look. Whether it slept then is not worth one.
	if computed, measured := processorTime(l.pid); measured && l.measured {
		own = min(own, computed-l.computed)
	}
	return l.usage.own + own
}

// next returns when to look again: no time of its own passes faster than the wall's.
func (l *Limit) next() time.Duration { return min(interval, max(l.limit-l.usage.own, 0)) }

func (l *Limit) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return
	}
	l.measure()
	if l.usage.own < l.limit && (l.outer == 0 || l.usage.elapsed < l.outer) {
		l.timer.Reset(max(l.next(), time.Millisecond))
		return
	}
	l.end()
}

// Expire calls over now, unless that was done, or Stop is called before.
func (l *Limit) Expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.done {
		l.measure()
		l.end()
	}
}

func (l *Limit) end() {
	l.done = true
	l.timer.Stop()
	l.over(End{Own: l.usage.own, Elapsed: l.usage.elapsed, Stopped: l.usage.state == stopped})
}

// measure adds the time since the last look.
func (l *Limit) measure() {
	now := time.Now()
	computed, measured := processorTime(l.pid)
	state := unknown
	if passed := now.Sub(l.at); measured && l.measured {
		if state = running; computed-l.computed < min(passed, interval)/2 {
			state = stateOf(l.pid)
		}
		l.usage.add(passed, computed-l.computed, state)
	} else {
		l.usage.add(passed, 0, state)
	}
	l.at, l.computed, l.measured = now, computed, measured
}
