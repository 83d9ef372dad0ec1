package worker

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

func TestAssemble(t *testing.T) {
	kept := texts{7: "known", 8: "old"}
	load := protocol.Load{EvictTexts: []uint64{8}, Files: []protocol.File{
		{Path: "a", ID: 9, Text: "new"}, {Path: "b", ID: 7, Known: true, Checked: true}, {Path: "c"},
	}}
	added, err := kept.assemble(&load)
	if diff := cmp.Diff(engines.Files{"a": "new", "b": "known", "c": ""}, load.Script.Files); err != nil || added != 3 || diff != "" {
		t.Errorf("%d bytes are new, error %v, (-want +got):\n%s", added, err, diff)
	}
	if diff := cmp.Diff(map[string]bool{"b": true}, load.Script.Checked); diff != "" {
		t.Errorf("checked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(texts{7: "known", 9: "new"}, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	missing := protocol.Load{Files: []protocol.File{{Path: "a", ID: 8, Known: true}}}
	if _, err := kept.assemble(&missing); !errors.Is(err, errUnreadable) {
		t.Errorf("error %v: the host has to know that the worker does not have what it expects", err)
	}
}
