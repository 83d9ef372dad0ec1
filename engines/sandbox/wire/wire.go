// Package wire encodes JSON values for the pipes between the host and its script workers, and decodes
// them.
//
// The values are those of package unstructured: map[string]any, []any, string, bool, int64, float64 and
// nil. Integers and floats stay distinct. A value is a tag byte and its content. Lengths come first, so
// that a reader can check them before it allocates. Map entries are written in no order.
//
// Neither side trusts the other. A decoder never panics, never recurses deeper than MaxDepth, and
// allocates memory in proportion to the message, up to a limit.
package wire

import (
	"errors"
	"fmt"
)

// MaxDepth bounds the nesting of lists and maps.
const MaxDepth = 500

// Tags of values. They are not stored anywhere: both sides are of one build.
const (
	tagNil byte = iota
	tagFalse
	tagTrue
	tagInt
	tagFloat
	tagString
	tagList
	tagMap
	// tagStore is a map that the reader keeps under an ID, tagReference the ID of such a map.
	tagStore
	tagReference
	// tagBackRef is a list or map that occurred earlier in the message.
	tagBackRef
)

var (
	// ErrTooDeep means that a value is nested deeper than MaxDepth.
	ErrTooDeep = fmt.Errorf("is nested more than %d deep", MaxDepth)
	// ErrTooLarge means that a value exceeds the limit of the encoder or decoder.
	ErrTooLarge = errors.New("is too large")
	// ErrMalformed means that bytes are not a valid message.
	ErrMalformed = errors.New("malformed message")
)
