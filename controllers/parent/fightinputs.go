package parent

import (
	"fmt"
	"hash/maphash"
	"math/bits"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// fightInputs are hashes of the input that a fight over children may depend on, without the
// children themselves.
type fightInputs [4]uint64

const (
	specInput     = iota // the scripts and the parent without metadata and status
	metadataInput        // the parent's labels and annotations
	relatedInput         // related objects and inputs
	desiredInput         // what is desired of the subject
)

// edit returns a hash of the inputs that only an edit changes.
func (i fightInputs) edit() uint64 { return i[specInput] ^ bits.RotateLeft64(i[relatedInput], 1) }

// fightInputs returns the inputs of a subject in this pass.
func (p *pass) fightInputs(s fightSubject) fightInputs {
	now := p.commonInputs()
	now[desiredInput] = p.hashDesired(s.child)
	return now
}

// commonInputs returns the inputs that all subjects share.
func (p *pass) commonInputs() fightInputs {
	if p.common == nil {
		p.common = &fightInputs{specInput: p.hashSpec(), metadataInput: p.hashMetadata(), relatedInput: p.hashRelated()}
	}
	return *p.common
}

func (p *pass) hash(write func(h *maphash.Hash)) uint64 {
	var h maphash.Hash
	h.SetSeed(p.passCache.seed)
	write(&h)
	return h.Sum64()
}

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

func (p *pass) hashMetadata() uint64 {
	return p.hash(func(h *maphash.Hash) {
		fields, _ := p.observed.Parent.Object["metadata"].(map[string]any)
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

// hashDesired returns the hash of a desired child, or of the names of all desired children of a
// kind.
func (p *pass) hashDesired(child apply.Key) uint64 {
	switch object := p.desiredChild(child); {
	case child.Name == "":
		return p.desiredNames[child]
	case object == nil:
		return 0
	default:
		return jsonvalue.Hash(object.Object)
	}
}

// desiredChild returns a child that the hooks want, or nil.
func (p *pass) desiredChild(child apply.Key) *unstructured.Unstructured {
	if p.desiredByKey == nil {
		p.desiredByKey = map[apply.Key]*unstructured.Unstructured{}
		p.desiredNames = map[apply.Key]uint64{}
		for _, object := range p.desired {
			key := apply.KeyOf(object)
			p.desiredByKey[key] = object
			// The sum does not depend on their order.
			p.desiredNames[apply.Key{Kind: key.Kind}] += p.hash(func(h *maphash.Hash) { h.WriteString(key.Namespace + "/" + key.Name) })
		}
	}
	return p.desiredByKey[child]
}
