package loops

import "math/bits"

// Inputs are hashes of the input that a fight over children may depend on, without the
// children themselves.
type Inputs [5]uint64

const (
	SpecInput     = iota // the scripts and the parent without metadata and status
	MetadataInput        // the parent's labels and annotations
	RelatedInput         // related objects and inputs
	DesiredInput         // what is desired of the subject
	OthersInput          // what others have made of the parent's metadata and status, and of other children; of feedback alone
)

// Edit returns a hash of the inputs that only an edit changes.
func (i Inputs) Edit() uint64 { return i[SpecInput] ^ bits.RotateLeft64(i[RelatedInput], 1) }
