// Package shard divides namespaces among reconcilers that share the work of a host, by the hash of the API server's sharded lists and
// watches (KEP-5866): FNV-1a of 64 bits.
package shard

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/sharding"
)

// Range is the hashes of one of Count reconcilers. The zero value is not divided: it has all of them.
type Range struct {
	Index, Count int
	// First and Last are the least and the greatest hash.
	First, Last uint64
}

// IsWhole reports whether the range has all hashes.
func (r Range) IsWhole() bool { return r.Count <= 1 }

// Contains reports whether the range has a namespace.
func (r Range) Contains(namespace string) bool {
	if r.IsWhole() {
		return true
	}
	hash := hashOf(namespace)
	return r.First <= hash && hash <= r.Last
}

// Owns reports whether what is in no namespace is that of the range. The first and the last range may be far wider than others, so that
// their hashes do not divide names evenly.
func (r Range) Owns(name string) bool {
	if r.IsWhole() {
		return true
	}
	hash := hashOf(name)
	return int((hash^hash>>32)%uint64(r.Count)) == r.Index
}

func hashOf(text string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(text)) // It returns no error.
	return hash.Sum64()
}

// Selector returns the namespaces of the range for the parameter shardSelector of lists and watches, or "" if it has all.
func (r Range) Selector() string {
	if r.IsWhole() {
		return ""
	}
	return r.selector().String()
}

func (r Range) selector() sharding.Selector {
	end := "0x10000000000000000"
	if r.Last+1 != 0 {
		end = hexadecimal(r.Last + 1)
	}
	return sharding.NewSelector(sharding.ShardRangeRequirement{Key: "object.metadata.namespace", Start: hexadecimal(r.First), End: end})
}

func hexadecimal(hash uint64) string { return fmt.Sprintf("0x%016x", hash) }

// String returns the number of the range and how many there are, or "" if it has all hashes.
func (r Range) String() string {
	if r.IsWhole() {
		return ""
	}
	return fmt.Sprintf("%d of %d", r.Index, r.Count)
}

// Divide returns count ranges that have all hashes, and about equally many of the namespaces. They are not equally wide: hashes of names
// that differ in their last characters alone are so close to each other that all of them would be in one range.
func Divide(namespaces []string, count int) []Range {
	var hashes []uint64
	for _, namespace := range namespaces {
		hashes = append(hashes, hashOf(namespace))
	}
	slices.Sort(hashes)
	if hashes = slices.Compact(hashes); len(hashes) < count {
		hashes = nil
	}
	firsts := make([]uint64, count)
	for i := 1; i < count; i++ {
		if firsts[i] = ^uint64(0)/uint64(count)*uint64(i) + 1; hashes != nil {
			before := hashes[len(hashes)*i/count-1]
			firsts[i] = before + (hashes[len(hashes)*i/count]-before+1)/2 // New names are likely on both sides.
		}
	}
	return rangesOf(firsts)
}

func rangesOf(firsts []uint64) []Range {
	ranges := make([]Range, len(firsts))
	for i, first := range firsts {
		ranges[i] = Range{Index: i, Count: len(firsts), First: first, Last: ^uint64(0)}
		if i+1 < len(firsts) {
			ranges[i].Last = firsts[i+1] - 1
		}
	}
	return ranges
}

// Format returns ranges of Divide as text.
func Format(ranges []Range) string {
	firsts := make([]string, len(ranges))
	for i, r := range ranges {
		firsts[i] = hexadecimal(r.First)
	}
	return strings.Join(firsts, " ")
}

// Parse returns the ranges of a text of Format.
func Parse(text string) ([]Range, error) {
	var firsts []uint64
	for field := range strings.FieldsSeq(text) {
		first, err := strconv.ParseUint(field, 0, 64)
		if err != nil {
			return nil, fmt.Errorf("the first hash of range %d: %w", len(firsts), err)
		}
		firsts = append(firsts, first)
	}
	ascending := slices.IsSortedFunc(firsts, func(a, b uint64) int { return cmp.Or(cmp.Compare(a, b), -1) })
	if len(firsts) == 0 || firsts[0] != 0 || !ascending {
		return nil, errors.New("the first hashes of ranges must begin with 0 and ascend")
	}
	return rangesOf(firsts), nil
}
