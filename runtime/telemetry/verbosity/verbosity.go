// Package verbosity decides what of a log is seen: up to a verbosity of the process, and up to one of its own for what
// a definition asks to be listened to. The level of a logger from it can change while it is in use.
package verbosity

import (
	"sync/atomic"

	"github.com/go-logr/logr"
)

// The verbosities that messages have. Each includes those below it.
const (
	// Events are starts and stops, scripts that were loaded or not, parents that fail and hot loops.
	Events = 0
	// Decisions are what is written and why something is not, and what hooks write to the console.
	Decisions = 1
	// Values are the changed fields of children, and what hooks answer. What is secret is hidden.
	Values = 4
)

// Level is a verbosity that can be changed at any time. The zero value is Events.
type Level struct{ level atomic.Int32 }

// Set changes the verbosity.
func (l *Level) Set(level int) { l.level.Store(int32(level)) }

// Get returns the verbosity.
func (l *Level) Get() int { return int(l.level.Load()) }

// Limited returns a logger that writes the messages up to a verbosity to log, whose own one is not asked.
func Limited(log logr.Logger, level int) logr.Logger {
	return wrap(log, func(v int) bool { return v <= level })
}

// Raised returns a logger that writes what log writes, and, unless level is Events, all messages up to level. For those it does not ask
// log, which has to come from Limited, or to write whatever it is given.
func Raised(log logr.Logger, level *Level) logr.Logger {
	if log.GetSink() == nil {
		return log
	}
	enabled := log.GetSink().Enabled
	return wrap(log, func(v int) bool { return enabled(v) || level.Get() > Events && v <= level.Get() })
}

func wrap(log logr.Logger, enabled func(int) bool) logr.Logger {
	if log.GetSink() == nil {
		return log
	}
	return log.WithSink(sink{log.GetSink(), enabled})
}

// Warn logs a warning. logr has none: the adapter of zap takes the level below Events for one, and others do not look at it.
func Warn(log logr.Logger, message string, keysAndValues ...any) {
	if to := log.GetSink(); to != nil && to.Enabled(Events-1) {
		to.Info(Events-1, message, keysAndValues...)
	}
}

// sink decides which messages are written to another one. The other one must not decide again.
type sink struct {
	logr.LogSink
	enabled func(level int) bool
}

// Enabled reports whether messages of a level are written.
func (s sink) Enabled(level int) bool { return s.enabled(level) }

// WithValues returns the sink with values that each message gets.
func (s sink) WithValues(keysAndValues ...any) logr.LogSink {
	return sink{s.LogSink.WithValues(keysAndValues...), s.enabled}
}

// WithName returns the sink with a name.
func (s sink) WithName(name string) logr.LogSink { return sink{s.LogSink.WithName(name), s.enabled} }
