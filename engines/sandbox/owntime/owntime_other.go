//go:build !linux

package owntime

import "time"

// processorTime is not known on this system.
func processorTime(int) (time.Duration, bool) { return 0, false }

func stateOf(int) state { return unknown }
