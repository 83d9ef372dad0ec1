//go:build linux

package hostile

import (
	"fmt"
	"maps"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
)

// neighbours are attacks of each way to be stopped: by an interrupt, by a kill, and by
// their own death.
var neighbours = []string{
	"loop-for.js", "native-index-of.js", "memory-objects.js", "memory-repeat-instant.js", "stack-json-parse.js",
	"loop-comprehension.jsonnet", "native-sort.jsonnet", "memory-doubling.jsonnet",
	"loop-nested-map.cel", "native-doubling.cel", "memory-doubling-text.cel",
}

// TestNeighbours calls an innocent definition while another one attacks, with texts that are new. The innocent calls may not have to
// wait for attacks.
func TestNeighbours(t *testing.T) {
	all := map[string]attack{}
	for _, a := range corpus(t, canary{}) {
		all[a.name] = a
	}
	for _, name := range neighbours {
		t.Run(name, func(t *testing.T) {
			s := newSharedPool(t)
			for n := range tries { // Attacks are soon refused, by when a busy machine has made few innocent calls.
				var edited []engines.Program
				for m := range attackers {
					a := attack{language: all[name].language, name: name, files: maps.Clone(all[name].files)}
					a.files[a.entry()] += fmt.Sprintf("\n// %d, %d", n, m)
					edited = append(edited, s.program(t, a))
				}
				attacking, stop := start(t, edited, otherCall)
				disturbed := attacking.disturbs(t, s.good, goodCall, 1)
				if stop(); !disturbed {
					return
				}
			}
			t.Error("the innocent calls waited for attacks")
		})
	}
}

// goodCall returns a call of the innocent definition.
func goodCall() engines.Call {
	call := request("good")
	call.Owner = "good"
	return call
}
