package worker

import (
	"fmt"

	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

// texts are the texts of files that the host has sent, by ID. The host decides which to keep.
type texts map[uint64]string

// assemble makes the files of a load from those that it has and those that are there, and returns how many bytes are new.
func (t texts) assemble(load *protocol.Load) (added int, err error) {
	for _, id := range load.EvictTexts {
		delete(t, id)
	}
	files, checked := make(map[string]string, len(load.Files)), map[string]bool{}
	for _, f := range load.Files {
		if f.ID != 0 && !f.Known {
			t[f.ID] = f.Text
			added += len(f.Text)
		}
		text, ok := t[f.ID]
		if !ok && f.ID != 0 {
			return 0, fmt.Errorf("%w: no text %d", errUnreadable, f.ID)
		}
		files[f.Path] = text
		if f.Checked {
			checked[f.Path] = true
		}
	}
	load.Script.Files, load.Script.Checked = files, checked
	return added, nil
}
