package webhook

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

const (
	// maxAnswerMemory bounds the memory that a decoded answer takes, as for scripts.
	maxAnswerMemory = engines.MaxResponseMemory
	// maxMemoryPerByte is more than any JSON takes for each of its bytes. The most costly are nested objects
	// of one field: five bytes for each level.
	maxMemoryPerByte = 80
	// maxDepth is how deep the decoder lets JSON be nested. It refuses what is deeper before it makes any of it.
	maxDepth = 10000
)

// checkMemory returns an error if decoding text would take more than maxAnswerMemory. It tries cheap estimates that
// are never too low first.
func checkMemory(text []byte) error {
	switch {
	case len(text)*maxMemoryPerByte <= maxAnswerMemory:
		return nil
	case maxDecodedSize(text) <= maxAnswerMemory:
		return nil
	case decodedSize(text, maxAnswerMemory) <= maxAnswerMemory:
		return nil
	}
	return &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf(
		"the response of %s would take more than %d MiB of memory, as it has so many small values: return less",
		count(int64(len(text))), maxAnswerMemory>>20)}
}

// maxDecodedSize returns an upper bound of the memory that the value of a JSON text takes, in bytes. It counts a few
// characters, wherever they are, which takes about a hundredth of the time of decoding.
func maxDecodedSize(text []byte) int {
	const number = 2 * jsonvalue.NumberSize
	// field is the most that a field of a large object takes beside the object's first eight.
	const field = 92 + number
	size := len(text) + number
	for c, each := range map[byte]int{
		'{': jsonvalue.MapSize(1), ':': field, '"': jsonvalue.BoxSize / 2,
		'[': jsonvalue.BoxSize + jsonvalue.ElementSize + number, ',': 2*jsonvalue.ElementSize + number,
	} {
		size += bytes.Count(text, []byte{c}) * each
	}
	return size
}

// decodedSize returns about how many bytes of memory the value of a JSON text takes, without making it. If they
// are more than limit, it returns some number above limit. For what is not JSON, or is nested deeper than maxDepth,
// it returns any number.
func decodedSize(text []byte, limit int) int {
	s := sizeScanner{text: text}
	for s.at < len(text) && s.size <= limit && len(s.open) <= maxDepth {
		s.next()
	}
	return s.size
}

// sizeScanner reads a JSON text and adds up what its values take.
type sizeScanner struct {
	text []byte
	at   int
	size int
	// open are the objects and lists around the next value, the innermost last.
	open []openContainer
}

// openContainer is an object or list that has begun.
type openContainer struct {
	isObject bool
	commas   int
	// size is the memory of its capacity, which grows by doubling.
	size int
	// isEmpty is false from the first value on.
	isEmpty bool
}

// next reads one token, or a part of one.
func (s *sizeScanner) next() {
	c := s.text[s.at]
	s.at++
	switch c {
	case '{', '[':
		s.value()
		s.open = append(s.open, openContainer{isObject: c == '{', isEmpty: true})
		s.size += emptySize(c == '{')
	case '}', ']':
		if len(s.open) > 0 {
			s.open = s.open[:len(s.open)-1]
		}
	case ',':
		if top := s.top(); top != nil {
			top.commas++
			s.grow(top)
		}
	case '"':
		s.string()
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		s.value()
		start := s.at
		for s.at < len(s.text) && isNumberByte(s.text[s.at]) {
			s.at++
		}
		if s.at-start > 1 { // The runtime has all numbers of two digits.
			s.size += 2 * jsonvalue.NumberSize // Its text was beside it.
		}
	case 't', 'f', 'n':
		s.value()
		for s.at < len(s.text) && s.text[s.at] >= 'a' && s.text[s.at] <= 'z' {
			s.at++
		}
	}
}

func (s *sizeScanner) top() *openContainer {
	if len(s.open) == 0 {
		return nil
	}
	return &s.open[len(s.open)-1]
}

// value notes that the innermost object or list is not empty.
func (s *sizeScanner) value() {
	if top := s.top(); top != nil && top.isEmpty {
		top.isEmpty = false
		s.grow(top)
	}
}

// grow adds what the object or list needs for one more element.
func (s *sizeScanner) grow(c *openContainer) {
	n := c.commas + 1
	need := jsonvalue.MapSize(n) - emptySize(true)
	if !c.isObject {
		need = listCapacity(n) * jsonvalue.ElementSize
	}
	s.size += need - c.size
	c.size = need
}

func emptySize(isObject bool) int {
	if isObject {
		return jsonvalue.MapSize(0)
	}
	return jsonvalue.BoxSize
}

// listCapacity returns how many elements there is room for in a list to which n were appended.
func listCapacity(n int) int {
	if n <= 256 {
		return 1 << bits.Len(uint(n-1))
	}
	return n + n/4
}

// string reads a string up to its end, which begins after the quote.
func (s *sizeScanner) string() {
	s.value()
	start := s.at
	s.skipString()
	s.size += s.at - start
	if !s.isBeforeColon() { // A key has its place in the object.
		s.size += jsonvalue.BoxSize
	}
}

// skipString moves to the end of a string.
func (s *sizeScanner) skipString() {
	start := s.at
	for {
		length := bytes.IndexByte(s.text[s.at:], '"')
		if length < 0 {
			s.at = len(s.text)
			return
		}
		s.at += length + 1
		if !isEscaped(s.text[start : s.at-1]) {
			return
		}
	}
}

// isBeforeColon reports whether a colon is next.
func (s *sizeScanner) isBeforeColon() bool {
	rest := bytes.TrimLeft(s.text[s.at:], " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// isEscaped reports whether what follows text is escaped by a backslash.
func isEscaped(text []byte) bool {
	backslashes := 0
	for i := len(text) - 1; i >= 0 && text[i] == '\\'; i-- {
		backslashes++
	}
	return backslashes%2 == 1
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}
