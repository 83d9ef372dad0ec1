// Package wire writes JSON values as bytes for the sockets between the host and
// its script workers, and reads them back.
//
// The values are those of package unstructured: map[string]any, []any, string,
// bool, int64, float64 and nil. Whole numbers and others stay apart. A value is a
// tag byte and what belongs to it; lengths come first, so that a reader knows
// what it lacks before it allocates. Maps are written in whatever order they
// have, because they are maps again on the other side.
//
// Neither side believes the other: a reader never panics, never recurses deeper
// than MaxDepth, and allocates in proportion to the bytes that it was given, up
// to a limit.
package wire

import (
	"errors"
	"fmt"
)

// MaxDepth is how deep lists and maps may be nested.
const MaxDepth = 500

// What the bytes of a value begin with. These numbers are known on both sides,
// which are the same binary, and are stored nowhere.
const (
	tagNil byte = iota
	tagFalse
	tagTrue
	tagInt
	tagFloat
	tagString
	tagList
	tagMap
	// tagKept is a map that the reader shall keep under a number, tagHeld one
	// that it has kept.
	tagKept
	tagHeld
	// tagAgain is a list or map that has come before in the message.
	tagAgain
)

var (
	// ErrTooDeep says that a value is nested deeper than MaxDepth.
	ErrTooDeep = fmt.Errorf("is nested more than %d deep", MaxDepth)
	// ErrTooLarge says that a value takes more than the limit of the encoder or decoder.
	ErrTooLarge = errors.New("is too large")
	// ErrMalformed says that bytes are no value.
	ErrMalformed = errors.New("malformed message")
)
