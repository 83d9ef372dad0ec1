// Package reports has what the shards of a host report to each other about definitions: the owner of a definition decides about all of its
// parents, and knows those of other shards from their reports.
package reports

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
)

// Report is what a shard reports about a definition that another shard owns.
type Report struct {
	// Ready is the condition Ready of a host that has this shard alone.
	Ready metav1.Condition `json:"ready"`
	// Summary is how the parents are, or nil if they are not listed yet.
	Summary *parent.Summary `json:"summary,omitempty"`
	// Parents are there while steps or a pin decide what serves.
	Parents []Parent `json:"parents,omitempty"`
	// Scripts are the revisions of the scripts by which children were made, if ScriptsKnown is set.
	Scripts      []string `json:"scripts,omitempty"`
	ScriptsKnown bool     `json:"scriptsKnown,omitempty"`
	// Guard is the record of what bounds deletions in this shard, and Hold what that holds.
	Guard *v1alpha1.DeletionGuardStatus `json:"guard,omitempty"`
	Hold  Hold                          `json:"hold"`
	// Removed are the warnings about what the spec before the running one managed in this shard.
	Removed []plan.Warning `json:"removed,omitempty"`
}

// Equal reports whether two reports say the same.
func (r *Report) Equal(other *Report) bool {
	own, err := json.Marshal(r)
	theirs, otherErr := json.Marshal(other)
	return err == nil && otherErr == nil && bytes.Equal(own, theirs)
}

// Parent is a rollout.Parent as it is stored.
type Parent struct {
	Hash     uint32            `json:"hash"`
	Labels   map[string]string `json:"labels,omitempty"`
	Name     string            `json:"name"`
	Revision string            `json:"revision,omitempty"`
	Health   rollout.Health    `json:"health,omitempty"`
	Message  string            `json:"message,omitempty"`
	Children int               `json:"children,omitempty"`
}

// ParentOf returns a parent as it is stored, with those of its labels that have the keys.
func ParentOf(p rollout.Parent, keys []string) Parent {
	stored := Parent{Hash: p.Hash, Name: p.Name, Revision: p.Revision, Health: p.Health, Message: p.Message, Children: p.Children()}
	for _, key := range keys {
		if value, has := p.Labels[key]; has {
			if stored.Labels == nil {
				stored.Labels = map[string]string{}
			}
			stored.Labels[key] = value
		}
	}
	return stored
}

// Rollout returns the parent that was stored.
func (p Parent) Rollout() rollout.Parent {
	return rollout.Parent{
		Member: rollout.Member{Hash: p.Hash, Labels: p.Labels}, Name: p.Name, Revision: p.Revision, Health: p.Health, Message: p.Message,
		Children: func() int { return p.Children },
	}
}

// Hold is what the guard at deletions holds in a shard.
type Hold struct {
	// ID is what an approval names, or empty. Message is why it is held.
	ID      string `json:"id,omitempty"`
	Message string `json:"message,omitempty"`
	// Exceeded is the edit that can be taken back, or nothing.
	Exceeded rollout.Exceeded `json:"exceeded"`
}

// maxReport is how many bytes a report may have: an object may have 1 MiB with the rest, and binary data a third more as text.
const maxReport = 700 << 10

// encode returns a report as it is stored.
func (r *Report) encode() ([]byte, error) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if err := json.NewEncoder(writer).Encode(r); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	if packed.Len() > maxReport {
		return nil, fmt.Errorf("the report about its %d parents has %d KiB, and may have %d: use more --shards",
			len(r.Parents), packed.Len()>>10, maxReport>>10)
	}
	return packed.Bytes(), nil
}

// decode returns a report that was stored.
func decode(stored []byte) (*Report, error) {
	reader, err := gzip.NewReader(bytes.NewReader(stored))
	if err != nil {
		return nil, err
	}
	const limit = 64 << 20 // Whoever may write ConfigMaps must not fill the memory of the host.
	text, err := io.ReadAll(io.LimitReader(reader, limit))
	if err != nil {
		return nil, err
	}
	report := &Report{}
	return report, json.Unmarshal(text, report)
}
