package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLeastWrites counts the objects of one cluster by hand.
func TestLeastWrites(t *testing.T) {
	z := size{clusters: 1, cells: 2, shards: 2, tablets: 3}
	children := 3 + // etcd and its two Services
		2 + // vtctld and its Service
		2 + 2*3 + // the cells, each with a Job, a vtgate and its Service
		1 + 1 + // the keyspace and its Job
		2*(1+1+1) + // the shards, each with a Service and a vtorc
		2*12 // the tablets, each with a claim
	parents := 1 + 2 + 1 + 2
	if got, want := z.leastWrites(), children+3*parents; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	if got := z.tabletsOf(); got != 12 {
		t.Errorf("got %d tablets, want 12", got)
	}
	z.clusters = 10
	if got, want := z.leastWrites(), 10*(children+3*parents); got != want {
		t.Errorf("ten clusters: got %d, want %d", got, want)
	}
}

func TestRanges(t *testing.T) {
	for shards, want := range map[int]string{1: `"-"`, 2: `"-80" "80-"`, 4: `"-40" "40-80" "80-c0" "c0-"`} {
		if d := cmp.Diff(want, strings.Join(size{shards: shards}.ranges(), " ")); d != "" {
			t.Errorf("%d shards: %s", shards, d)
		}
	}
}
