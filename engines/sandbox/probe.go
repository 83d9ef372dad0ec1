package sandbox

import "strings"

// UnconfinedError is the error of a worker that is confined less than Config.Require.
type UnconfinedError struct {
	// Unmet has each measure that is missing, with the reason.
	Unmet []string
}

// Error returns the missing measures.
func (e *UnconfinedError) Error() string {
	return "not confined enough to be given scripts: " + strings.Join(e.Unmet, "; ")
}

// Probe starts a worker and ends it, to learn how far workers are confined here. It returns an *UnconfinedError if that is less than
// config.Require, or why no worker could be started, of which nothing follows.
func Probe(config Config) error {
	p, _, err := start(config.withDefaults(), 0, defaultMemory)
	if err != nil {
		return err
	}
	p.kill(reasonClosed)
	<-p.exited
	p.usage.close()
	return nil
}
