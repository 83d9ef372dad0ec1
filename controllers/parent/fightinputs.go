package parent

import (
	"fmt"
	"hash/maphash"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// loops.Inputs returns the inputs of a subject in this pass.
func (p *pass) fightInputs(s loops.Subject) loops.Inputs {
	now := p.commonInputs()
	now[loops.DesiredInput] = p.hashDesired(s)
	if s.Feedback {
		return p.feedbackInputs(s, now)
	}
	return now
}

// commonInputs returns the inputs that all subjects share.
func (p *pass) commonInputs() loops.Inputs {
	if p.loop.hashed.common == nil {
		p.loop.hashed.common = &loops.Inputs{
			loops.SpecInput: p.hashSpec(), loops.MetadataInput: p.hashPart(p.observed.Parent, loops.ParentMetadata),
			loops.RelatedInput: p.hashRelated(),
		}
	}
	return *p.loop.hashed.common
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
		if part == loops.ParentStatus {
			status, _ := jsonvalue.Without(jsonvalue.ObjectIn(parent.Object, "status"), "observedGeneration")
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

// hashDesired returns the hash of a desired child, or of what is desired of a part of the parent. Which children of a kind are desired is
// no input: it may change with each pass, as the children do.
func (p *pass) hashDesired(s loops.Subject) uint64 {
	switch object := p.desiredChild(s.Child); {
	case s.Field == loops.ParentStatus:
		return jsonvalue.Hash(p.desired.Status)
	case s.Field == loops.ParentMetadata:
		return p.hash(func(h *maphash.Hash) { fmt.Fprint(h, p.metadataPatch(&unstructured.Unstructured{}, p.desired)) })
	case object == nil:
		return 0
	default:
		return jsonvalue.Hash(object.Object)
	}
}

// desiredChild returns a child that the hooks want, or nil.
func (p *pass) desiredChild(child apply.Key) *unstructured.Unstructured {
	if p.loop.hashed.byKey == nil {
		p.loop.hashed.byKey = map[apply.Key]*unstructured.Unstructured{}
		for _, object := range p.desired.Children {
			p.loop.hashed.byKey[apply.KeyOf(object)] = object
		}
	}
	return p.loop.hashed.byKey[child]
}

// loopInputs is what hot loops are known by in one pass.
type loopInputs struct {
	// others are the last other writers of children that are rewritten again and again.
	others map[apply.Key]string
	hashed inputHashes
}

// inputHashes are what loops.Inputs are made of in one pass. All is computed on first use.
type inputHashes struct {
	common *loops.Inputs
	byKey  map[apply.Key]*unstructured.Unstructured
	// origins are hashes of what others have made of objects, and allOrigins is their sum.
	origins    map[loops.Subject]uint64
	allOrigins uint64
}

// feedbackInputs returns the inputs with which a subject is written, as they would be without what this process wrote: a write that finds
// the same as the last one is its own consequence.
func (p *pass) feedbackInputs(s loops.Subject, now loops.Inputs) loops.Inputs {
	if p.loop.hashed.origins == nil {
		p.hashOrigins()
	}
	now[loops.MetadataInput] = 0 // It is one of the origins.
	now[loops.OthersInput] = p.loop.hashed.allOrigins - p.loop.hashed.origins[s.Object()]
	return now
}

// hashOrigins hashes the origins of the children and of the parts of the parent, whose sum does not depend on their order.
func (p *pass) hashOrigins() {
	p.loop.hashed.origins = make(map[loops.Subject]uint64, len(p.observed.Children)+2)
	add := func(s loops.Subject, state uint64) {
		origin := p.detector.OriginOf(s, state)
		hash := p.hash(func(h *maphash.Hash) {
			maphash.WriteComparable(h, s)
			maphash.WriteComparable(h, origin)
		})
		p.loop.hashed.origins[s] = hash
		p.loop.hashed.allOrigins += hash
	}
	for _, child := range p.observed.Children {
		add(loops.Subject{Parent: p.parent.GetUID(), Child: apply.KeyOf(child)}, p.passCache.VersionOf(child))
	}
	for _, part := range []string{loops.ParentMetadata, loops.ParentStatus} {
		add(p.parentSubject(part), p.hashPart(p.observed.Parent, part))
	}
}
