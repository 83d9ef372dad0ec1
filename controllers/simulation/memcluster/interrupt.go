package memcluster

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// interruption ends a client's process after some writes.
type interruption struct {
	left int
	met  bool
}

// Interrupt refuses all writes of clients that record them, after a number of writes: their process has ended there. Resume ends it.
func (c *Cluster) Interrupt(after int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interruption = &interruption{left: after}
}

// Interrupted reports whether a write was refused because of Interrupt.
func (c *Cluster) Interrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.interruption != nil && c.interruption.met
}

// Resume ends an interruption.
func (c *Cluster) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interruption = nil
}

// refuse returns the error for a write, or nil. A nil interruption refuses nothing.
func (i *interruption) refuse() error {
	if i == nil {
		return nil
	}
	if i.left > 0 {
		i.left--
		return nil
	}
	i.met = true
	return apierrors.NewServiceUnavailable("the process has ended")
}
