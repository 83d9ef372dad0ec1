package parent

import (
	"fmt"
	"hash/maphash"
	"math/bits"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// fightInputs are hashes of the input that a fight over children may depend on, without the
// children themselves.
type fightInputs [5]uint64

const (
	specInput     = iota // the scripts and the parent without metadata and status
	metadataInput        // the parent's labels and annotations
	relatedInput         // related objects and inputs
	desiredInput         // what is desired of the subject
	othersInput          // what others have made of the parent's metadata and status, and of other children; of feedback alone
)

// edit returns a hash of the inputs that only an edit changes.
func (i fightInputs) edit() uint64 { return i[specInput] ^ bits.RotateLeft64(i[relatedInput], 1) }

// fightInputs returns the inputs of a subject in this pass.
func (p *pass) fightInputs(s fightSubject) fightInputs {
	now := p.commonInputs()
	now[desiredInput] = p.hashDesired(s)
	if s.feedback {
		return p.feedbackInputs(s, now)
	}
	return now
}

// commonInputs returns the inputs that all subjects share.
func (p *pass) commonInputs() fightInputs {
	if p.hashed.common == nil {
		p.hashed.common = &fightInputs{
			specInput: p.hashSpec(), metadataInput: p.hashPart(p.observed.Parent, parentMetadata), relatedInput: p.hashRelated(),
		}
	}
	return *p.hashed.common
}

func (p *pass) hash(write func(h *maphash.Hash)) uint64 {
	var h maphash.Hash
	h.SetSeed(p.passCache.Seed)
	write(&h)
	return h.Sum64()
}

func writeValue(h *maphash.Hash, value any) { maphash.WriteComparable(h, jsonvalue.Hash(value)) }

func (p *pass) hashSpec() uint64 {
	return p.hash(func(h *maphash.Hash) {
		h.WriteString(p.programs.Revision)
		fmt.Fprint(h, p.isTerminating()) // A deletion counts as an edit.
		parent := p.observed.Parent.Object
		for _, field := range variant.SortedKeys(parent) {
			if field != "metadata" && field != "status" {
				h.WriteString(field)
				writeValue(h, parent[field])
			}
		}
	})
}

// hashPart returns the hash of a part of a parent. observedGeneration follows the generation, and is left out.
func (p *pass) hashPart(parent *unstructured.Unstructured, part string) uint64 {
	return p.hash(func(h *maphash.Hash) {
		if part == parentStatus {
			status, _ := jsonvalue.Without(statusOf(parent), "observedGeneration")
			writeValue(h, status)
			return
		}
		fields, _ := parent.Object["metadata"].(map[string]any)
		writeValue(h, fields["labels"])
		writeValue(h, fields["annotations"])
	})
}

// hashRelated leaves out what the parent owns, as it changes with the children.
func (p *pass) hashRelated() uint64 {
	return p.hash(func(h *maphash.Hash) {
		for _, objects := range [][]*unstructured.Unstructured{p.observed.Inputs, p.observed.Related} {
			for _, object := range objects {
				if owner := informer.ControllerOf(object); owner == nil || owner.UID != p.observed.Parent.GetUID() {
					h.WriteString(string(object.GetUID()))
					h.WriteString(object.GetResourceVersion())
				}
			}
			h.WriteByte(0)
		}
	})
}

// hashDesired returns the hash of a desired child, of the names of all desired children of a
// kind, or of what is desired of a part of the parent.
func (p *pass) hashDesired(s fightSubject) uint64 {
	switch object := p.desiredChild(s.child); {
	case s.field == parentStatus:
		return jsonvalue.Hash(p.hashed.desired.Status)
	case s.field == parentMetadata:
		return p.hash(func(h *maphash.Hash) { fmt.Fprint(h, p.metadataPatch(&unstructured.Unstructured{}, p.hashed.desired)) })
	case s.child.Name == "":
		return p.hashed.names[s.child]
	case object == nil:
		return 0
	default:
		return jsonvalue.Hash(object.Object)
	}
}

// desiredChild returns a child that the hooks want, or nil.
func (p *pass) desiredChild(child apply.Key) *unstructured.Unstructured {
	if p.hashed.byKey == nil {
		p.hashed.byKey = map[apply.Key]*unstructured.Unstructured{}
		p.hashed.names = map[apply.Key]uint64{}
		for _, object := range p.hashed.desired.Children {
			key := apply.KeyOf(object)
			p.hashed.byKey[key] = object
			// The sum does not depend on their order.
			p.hashed.names[apply.Key{Kind: key.Kind}] += p.hash(func(h *maphash.Hash) { h.WriteString(key.Namespace + "/" + key.Name) })
		}
	}
	return p.hashed.byKey[child]
}

// inputHashes are what fightInputs are made of in one pass. All but desired is computed on first use.
type inputHashes struct {
	desired variant.Desired
	common  *fightInputs
	byKey   map[apply.Key]*unstructured.Unstructured
	names   map[apply.Key]uint64 // by kind
	// origins are hashes of what others have made of objects, and allOrigins is their sum.
	origins    map[fightSubject]uint64
	allOrigins uint64
}
