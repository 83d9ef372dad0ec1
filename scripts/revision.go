package scripts

import (
	"crypto/sha256"
	"encoding/hex"

	"go.opentelemetry.io/otel/trace"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// Revision is a module tree that loaded. It never changes.
type Revision struct {
	// ID is the same for the same files and hooks, wherever they come from, and another one for any other.
	ID RevisionID
	// Programs are the hooks that scripts answer, by the name of the hook.
	Programs map[string]engines.Program
	// Edit is the trace in which it was loaded first, if there is one.
	Edit trace.SpanContext

	content     fingerprint
	trustDomain string
}

// TrustDomain names who wrote the files, as for workers: those of one domain take turns where all have a part.
func (r *Revision) TrustDomain() string { return r.trustDomain }

// RevisionID is the SHA-256 of a revision's files and hooks, in 64 hexadecimal digits, or empty.
// IDs are compared in full: nobody can make other files with the same one.
type RevisionID string

// Short returns the first digits, for messages.
func (id RevisionID) Short() string { return archive.ShortID(string(id)) }

// IsKnownAs reports whether a name is that of the revision: its ID, or the first digits, as people write it.
func (id RevisionID) IsKnownAs(name RevisionID) bool {
	return id == name || name != "" && id.Short() == string(name)
}

// IsRevisionID reports whether a text names a revision, as archive.ParseID reads it.
func IsRevisionID(text string) bool { return archive.ParseID(text) != "" }

// IsApprovedBy reports whether a text, as an annotation has it, approves the revision: it is the ID, as archive.ParseID reads it.
func (id RevisionID) IsApprovedBy(text string) bool {
	named := RevisionID(archive.ParseID(text))
	return named != "" && id.IsKnownAs(named)
}

// fingerprint identifies contents. It is safe against forged contents.
type fingerprint [sha256.Size]byte

// fingerprintOf covers all that a revision's programs depend on.
func fingerprintOf(files map[string]string, hooks []byte) fingerprint {
	return fingerprint(archive.Sum(files, hooks))
}

func (f fingerprint) id() RevisionID { return RevisionID(hex.EncodeToString(f[:])) }

// is reports whether the revision has that content, by the same authors.
func (r *Revision) is(content fingerprint, trustDomain string) bool {
	return r != nil && r.content == content && r.trustDomain == trustDomain
}

func (r *Revision) id() RevisionID {
	if r == nil {
		return ""
	}
	return r.ID
}
