// Package spelling finds the name that was meant by one that there is not, for messages.
package spelling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	// maxListed is how many names a hint lists.
	maxListed = 10
	// maxCompared bounds the names that are looked at, and maxLength their bytes: a hint has to be cheap, however much there is.
	maxCompared, maxLength = 10_000, 128
	// maxDistance is in how many letters a name may differ from what is meant.
	maxDistance = 3
)

// Hint returns what to say about a name that is not among known: "did you mean X?", or "there are X, Y", or "" if there are none.
func Hint(name string, known []string) string {
	return cmp.Or(Meant(name, known), List(known))
}

// Meant returns "did you mean X?" about the one of known that is nearest to name, or "" if none is near.
func Meant(name string, known []string) string {
	if meant := Nearest(name, known); meant != "" {
		return "did you mean " + meant + "?"
	}
	return ""
}

// List returns "there are X, Y and 3 more", sorted, or "" for none.
func List(names []string) string {
	names = slices.Sorted(slices.Values(names))
	names = slices.Compact(names)
	switch {
	case len(names) == 0:
		return ""
	case len(names) == 1:
		return "there is " + names[0]
	case len(names) > maxListed:
		return fmt.Sprintf("there are %s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	}
	return "there are " + strings.Join(names, ", ")
}

// Nearest returns the one of known that differs from name in few letters or only in case, or "". Of several that are as near it is the
// first in the order of their letters.
func Nearest(name string, known []string) string {
	meant, least := "", maxDistance+1
	lower := strings.ToLower(name)
	if len(name) > maxLength {
		return ""
	}
	for _, other := range known[:min(len(known), maxCompared)] {
		if other == name || len(other) > maxLength || len(other)-len(name) > least || len(name)-len(other) > least {
			continue
		}
		d := distance(lower, strings.ToLower(other))
		if d > max(len(name), len(other))/4 { // A short name is near to many.
			continue
		}
		if d < least || d == least && meant != "" && other < meant {
			meant, least = other, d
		}
	}
	return meant
}

// distance returns how many letters have to be added, left out, replaced or swapped with the next to make b of a (the distance of Damerau
// and Levenshtein, without edits of what was swapped).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Index returns where a text has a name that is not a part of another one, from a byte on, or -1.
func Index(text, name string, from int) int {
	for start := from; name != "" && start <= len(text); start++ {
		i := strings.Index(text[start:], name)
		if i < 0 {
			break
		}
		start += i
		end := start + len(name)
		if (start == 0 || !InName(text[start-1])) && (end == len(text) || !InName(text[end])) {
			return start
		}
	}
	return -1
}

// InName reports whether a byte of a text may be in a name, such as those of variables.
func InName(b byte) bool {
	return b == '_' || b == '$' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}
