package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// object is a Kubernetes object.
type object map[string]any

// at returns a value of the object, or nil.
func at(value any, path ...string) any {
	for _, field := range path {
		fields, _ := value.(map[string]any)
		value = fields[field]
	}
	return value
}

func (o object) at(path ...string) any { return at(map[string]any(o), path...) }

func (o object) text(path ...string) string { return text(o.at(path...)) }

func text(value any) string {
	text, _ := value.(string)
	return text
}

func list(value any) []any {
	values, _ := value.([]any)
	return values
}

func (o object) kind() string      { return o.text("kind") }
func (o object) name() string      { return o.text("metadata", "name") }
func (o object) namespace() string { return o.text("metadata", "namespace") }
func (o object) id() string        { return o.kind() + " " + o.name() }

// tree has all objects that the operator writes for an instance, from its creation to its deletion.
type tree struct {
	objects []object
	// undo are the Jobs that the finalize hooks write, in the order in which parents are deleted.
	undo []object
}

func (t *tree) kinds() string {
	counts := map[string]int{}
	for _, o := range t.objects {
		counts[o.kind()]++
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return strings.Join(texts, ", ")
}

// of returns the objects of a kind in the order in which they are written.
func (t *tree) of(kind string) []object {
	var found []object
	for _, o := range t.objects {
		if o.kind() == kind {
			found = append(found, o)
		}
	}
	return found
}
