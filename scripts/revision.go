package scripts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/libretto-k8s/libretto/engines"
)

// Revision is a module tree that loaded. It never changes.
type Revision struct {
	// ID is the same for the same files and hooks, wherever they come from, and another one for any other.
	ID string
	// Programs are the hooks that scripts answer, by the name of the hook.
	Programs map[string]engines.Program

	content fingerprint
}

// fingerprint identifies contents. It is safe against forged contents.
type fingerprint [sha256.Size]byte

// fingerprintOf covers all that a revision's programs depend on.
func fingerprintOf(files map[string]string, hooks []byte) fingerprint {
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%d %d ", len(path), len(files[path]))
		io.WriteString(h, path)
		io.WriteString(h, files[path])
	}
	h.Write(hooks)
	return fingerprint(h.Sum(nil))
}

// id returns the start of the fingerprint. It is short enough to read and to be part of an
// object's name, and too long to find other files with the ID of an archived revision.
func (f fingerprint) id() string { return hex.EncodeToString(f[:8]) }

func (r *Revision) is(content fingerprint) bool { return r != nil && r.content == content }

func (r *Revision) id() string {
	if r == nil {
		return ""
	}
	return r.ID
}
