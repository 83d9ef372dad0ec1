// Package schema knows how the API server merges the objects of each kind: which
// lists are sets or maps and by which keys, which objects are one value, where
// unknown fields are dropped. It reads this from the API server's OpenAPI documents,
// one for each group and version, and keeps what matters here in a small form.
//
// What it gives never changes and is used by many goroutines at once. A schema that
// has changed is a new value, so that its address identifies it.
package schema

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Kind is the schema of the objects of one kind in one version.
type Kind struct {
	// Root is the object itself.
	Root *Node

	digest [sha256.Size]byte // of the text of its definition
}

// Type is which JSON values may stand in a place.
type Type uint8

const (
	// Any value: the schema says nothing, as for raw extensions, or more than one type is allowed.
	Any Type = iota
	// Object stands for structs and for maps.
	Object
	// List stands for arrays.
	List
	// String and the others are scalars.
	String
	Number
	Boolean
)

// Relation is how the items of a list belong together.
type Relation uint8

const (
	// Unknown stands for lists of which the schema says nothing.
	Unknown Relation = iota
	// Atomic lists are one value.
	Atomic
	// Set lists hold each value once, in no order that matters.
	Set
	// Map lists contain objects that Node.Keys identify.
	Map
)

// Form is the form in which the API server keeps a scalar in a form of its own.
type Form uint8

const (
	// AsGiven is kept as it was given.
	AsGiven Form = iota
	// Quantity is kept in its shortest form: 1000m becomes 1.
	Quantity
	// Time is kept in UTC.
	Time
	// Bytes are base64 without line breaks.
	Bytes
)

// Node is the schema of a value. Where a *Node is nil, nothing is known.
type Node struct {
	Type Type
	Form Form
	// Nullable reports that null is a value, which the API server keeps and puts no default in its place.
	Nullable bool
	// IntOrString allows numbers as well as strings. Type is Any then.
	IntOrString bool

	// Fields are the named fields of an object.
	Fields map[string]*Node
	// Values is the schema of all other fields of an object, if it is a map.
	Values *Node
	// Defaults are the scalars that the API server puts in for missing fields, as
	// far as the document tells: built-in kinds have more.
	Defaults map[string]any
	// Secret values are hidden: their format is password.
	Secret bool
	// Atomic reports that an object is one value. For lists see Relation.
	Atomic bool
	// Prunes reports that fields other than Fields are dropped for certain.
	Prunes bool
	// Retains reports that an object, or each item of a list, loses the fields that are
	// not asked for when others in it change: they belong together.
	Retains bool

	// Items is the schema of a list's items.
	Items    *Node
	Relation Relation
	// Keys are the fields that tell apart the items of a Map list. Missing ones
	// have their default.
	Keys []string

	name       string // of the definition that it is, if it has a name
	overridden bool   // Atomic is other than the definition says
	open       bool   // unknown fields are kept here and below
	formatted  bool   // a string of a form that is checked elsewhere
}

// Secret reports whether a place in an object of the kind, which may be nil, is secret.
func (k *Kind) Secret(path jsonvalue.Path) bool {
	if k == nil {
		return false
	}
	node := k.Root
	for _, step := range path {
		if step.Item {
			node = node.Item()
		} else {
			node = node.Field(step.Name)
		}
		if node != nil && node.Secret {
			return true
		}
	}
	return false
}

// Field returns the schema of a field of an object, or nil.
func (n *Node) Field(name string) *Node {
	if n == nil {
		return nil
	}
	if field, ok := n.Fields[name]; ok {
		return field
	}
	return n.Values
}

// Item returns the schema of a list's items, or nil.
func (n *Node) Item() *Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// Drops reports whether the API server drops a field of this name for certain.
func (n *Node) Drops(name string) bool {
	if n == nil || !n.Prunes {
		return false
	}
	_, known := n.Fields[name]
	return !known
}

// maxDropped is how many paths Dropped returns.
const maxDropped = 20

// Dropped returns the paths of the fields of an object of the kind that the API server drops for certain, sorted, as its warnings
// have them: spec.containers[0].imagee.
func (k *Kind) Dropped(object map[string]any) []string {
	var paths []string
	k.Root.eachDropped("", object, func(path string) { paths = append(paths, path) })
	slices.Sort(paths)
	return paths[:min(len(paths), maxDropped)]
}

func (n *Node) eachDropped(path string, value any, report func(path string)) {
	if n == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if path != "" {
			path += "."
		}
		for name, field := range value {
			switch {
			case field == nil:
			case n.Drops(name):
				report(path + name)
			default:
				n.Field(name).eachDropped(path+name, field, report)
			}
		}
	case []any:
		for i, item := range value {
			n.Item().eachDropped(fmt.Sprintf("%s[%d]", path, i), item, report)
		}
	}
}
