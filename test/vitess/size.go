package main

import (
	"time"

	"github.com/libretto-k8s/libretto/test/steps"
)

// sizeLimit is how long many clusters may take.
const sizeLimit = 20 * time.Minute

// size is that of a measurement.
type size struct{ clusters, cells, shards, tablets int }

func (s *show) measurement() []steps.Step { return nil }
