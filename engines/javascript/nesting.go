package javascript

import "strings"

// nesting returns how deep brackets are nested in a source, by a scan that skips
// strings and comments but does not parse. It stops at limit+1.
func nesting(source string, limit int) int {
	depth, deepest := 0, 0
	for i := 0; i < len(source) && deepest <= limit; i++ {
		switch source[i] {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '"', '\'':
			i = stringEnd(source, i)
		case '/':
			i = commentEnd(source, i)
		}
	}
	return deepest
}

// stringEnd returns the index of the quote that closes the string which starts at
// i. A quote that nothing closes on its line is no string (but may be part of a
// regular expression or a template), and is passed over alone.
func stringEnd(source string, i int) int {
	for j := i + 1; j < len(source) && source[j] != '\n'; j++ {
		switch source[j] {
		case '\\':
			j++
		case source[i]:
			return j
		}
	}
	return i
}

// commentEnd returns the index of the last byte of the comment that starts at i, or i if none does.
func commentEnd(source string, i int) int {
	rest := source[i:]
	closing, length := "", 0
	switch {
	case strings.HasPrefix(rest, "//"):
		closing, length = "\n", 1
	case strings.HasPrefix(rest, "/*"):
		closing, length = "*/", 2
	default:
		return i
	}
	end := strings.Index(rest[2:], closing)
	if end < 0 {
		return len(source)
	}
	return i + 2 + end + length - 1
}
