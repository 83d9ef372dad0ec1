// Package apply turns the difference between observed and desired objects into
// writes.
//
// Diff compares and decides, without reading or writing anything; Execute writes
// what was decided and returns an outcome for each. The
// comparison of one object is in apply/merge, what server-side apply takes in apply/serverside,
// and the description of a change in apply/fielddiff.
//
// Objects given to this package are shared with caches. They are never changed,
// and what the package returns shares parts with them and must not be changed
// either.
package apply

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/apply/serverside"
)

// Method is what is done with an existing object that differs from the desired one.
type Method string

const (
	// OnDelete leaves it alone until another deletes it. The empty method means the same.
	OnDelete Method = "OnDelete"
	// Recreate deletes it; a later pass creates it anew.
	Recreate Method = "Recreate"
	// InPlace updates it.
	InPlace Method = "InPlace"
)

// Strategy is how what is desired is written to an object that exists.
type Strategy string

const (
	// Dynamic merges here, by what the annotation LastApplied remembers. The empty
	// strategy means the same.
	Dynamic Strategy = "DynamicApply"
	// ServerSideApply leaves merging to the API server, which keeps a record of who
	// asked for which field.
	ServerSideApply Strategy = "ServerSideApply"
)

// Rule is how objects of one kind are written.
type Rule struct {
	Kind       schema.GroupVersionKind
	Resource   schema.GroupVersionResource
	Namespaced bool
	Method     Method
	// Schema is how the API server merges the kind, or nil if that is not known. Then
	// the names of fields decide.
	Schema *openapi.Kind
	// Strategy is how what differs is written.
	Strategy Strategy
	// Managers are the names for server-side apply. A dynamic rule needs them too, in
	// order to take objects back from it.
	Managers serverside.Managers
	// Force lets server-side apply take fields from other managers.
	Force bool
	// Ignored are the paths of fields that are set when an object is created, and then left to others.
	Ignored [][]string
	// Orphan keeps objects from being deleted: those that are not desired any more are
	// released, and a second owner keeps the others from the garbage collector.
	Orphan bool
}

// HoldsBack reports whether objects that differ are left alone.
func (r Rule) HoldsBack() bool { return r.Method == "" || r.Method == OnDelete }

// valid returns an error for a rule that can't be followed.
func (r Rule) valid() error {
	switch r.Method {
	case "", OnDelete, Recreate, InPlace:
		return nil
	default:
		return fmt.Errorf("%s: unknown update method %q", kindName(r.Kind), r.Method)
	}
}
