package lsp

import (
	"regexp"
	"strings"
)

// yamlCursor is where a place in a YAML text is. It is found from the lines alone, as a text is seldom valid while it is typed.
type yamlCursor struct {
	apiVersion, kind string
	// path are the fields around the place, with [] for the items of a list. In a value its own field is the last one.
	path []string
	// isValue is whether a value stands at the place, and not the name of a field. What is first in an item of a list may be either.
	isValue bool
	// word is what is written of it, from the byte start of the line.
	word  string
	start int
	// beside are the values of fields that stand before it in the same object, as far as they are words.
	beside map[string]string
}

// yamlFrame is a field or a list around a place.
type yamlFrame struct {
	indent int
	isList bool
	key    string
	beside map[string]string
}

var (
	blockKey  = regexp.MustCompile(`^("[^"]*"|'[^']*'|[^\s"'{}\[\],#&*!|>%@` + "`" + `][^#{}\[\],]*?)\s*:(\s+|$)`)
	decorated = regexp.MustCompile(`^[&!][^\s]*\s*`)
	headerOf  = regexp.MustCompile(`^(apiVersion|kind):\s*["']?([^\s"'#]+)`)
)

// yamlScanner reads lines up to a place.
type yamlScanner struct {
	frames []yamlFrame
	flow   []yamlFrame // in braces and brackets, innermost last
	// scalar is the indentation of the field whose block scalar the lines are of, or -1.
	scalar int
	// isValue and start are of what is read last.
	isValue bool
	start   int
	quoted  bool
}

// cursorAt returns where a byte of a line is, or false within a block scalar or a comment.
func cursorAt(lines text, line, column int) (yamlCursor, bool) {
	first := line
	for first > 0 && !strings.HasPrefix(lines.line(first), "---") {
		first--
	}
	c := yamlCursor{}
	for i := first; i < len(lines) && (i <= line || !strings.HasPrefix(lines[i], "---")); i++ {
		if match := headerOf.FindStringSubmatch(lines[i]); match != nil && match[1] == "kind" {
			c.kind = match[2]
		} else if match != nil {
			c.apiVersion = match[2]
		}
	}
	s := yamlScanner{scalar: -1}
	for i := first; i < line; i++ {
		if !strings.HasPrefix(lines.line(i), "---") {
			s.read(lines.line(i), false)
		}
	}
	here := lines.line(line)
	here = here[:min(column, len(here))]
	if !s.read(here, true) {
		return c, false
	}
	for _, f := range append(s.frames, s.flow...) {
		switch {
		case f.isList:
			c.path = append(c.path, "[]")
		case f.key != "" && f.key != partialKey:
			c.path = append(c.path, f.key)
		}
		c.beside = f.beside
	}
	c.isValue, c.start, c.word = s.isValue, s.start, strings.TrimLeft(here[min(s.start, len(here)):], `"' `)
	c.start = len(here) - len(c.word)
	return c, true
}

// read reads a line. It reports whether something can be written at its end.
func (s *yamlScanner) read(line string, isLast bool) bool {
	trimmed := strings.TrimLeft(line, " ")
	indent := len(line) - len(trimmed)
	if s.scalar >= 0 {
		if strings.TrimSpace(trimmed) == "" && !isLast || indent > s.scalar {
			return false
		}
		s.scalar = -1
	}
	if len(s.flow) > 0 {
		return s.readFlow(line, 0)
	}
	if trimmed == "" && !isLast || strings.HasPrefix(trimmed, "#") {
		return false
	}
	s.leave(indent, strings.HasPrefix(trimmed, "- ") || trimmed == "-")
	for strings.HasPrefix(trimmed, "- ") || trimmed == "-" {
		if top := len(s.frames) - 1; top < 0 || !s.frames[top].isList || s.frames[top].indent != indent {
			s.frames = append(s.frames, yamlFrame{indent: indent, isList: true})
		}
		rest := strings.TrimLeft(trimmed[1:], " ")
		indent += len(trimmed) - len(rest)
		trimmed = rest
	}
	s.isValue, s.start = false, indent
	match := blockKey.FindString(trimmed)
	if match == "" {
		s.frames = append(s.frames, yamlFrame{indent: indent, key: partialKey, beside: s.besides(indent)})
		if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
			s.frames = s.frames[:len(s.frames)-1]
			return s.readFlow(line, indent)
		}
		return true
	}
	s.enter(indent, strings.Trim(strings.TrimRight(match, " :\t"), `"'`))
	return s.readValue(line, indent+len(match), indent)
}

// partialKey stands for the name of a field that is being written.
const partialKey = "\x00"

// leave ends what a line of an indentation is not in.
func (s *yamlScanner) leave(indent int, isItem bool) {
	for len(s.frames) > 0 {
		top := s.frames[len(s.frames)-1]
		isBeside := top.indent == indent && (top.isList != isItem && top.isList || top.key == partialKey)
		if top.indent <= indent && !isBeside {
			return
		}
		s.frames = s.frames[:len(s.frames)-1]
	}
}

// besides returns the fields of the object at an indentation.
func (s *yamlScanner) besides(indent int) map[string]string {
	if top := len(s.frames) - 1; top >= 0 && !s.frames[top].isList && s.frames[top].indent == indent {
		beside := s.frames[top].beside
		s.frames = s.frames[:top]
		return beside
	}
	return map[string]string{}
}

// enter goes into a field.
func (s *yamlScanner) enter(indent int, key string) {
	beside := s.besides(indent)
	s.frames = append(s.frames, yamlFrame{indent: indent, key: key, beside: beside})
}

// readValue reads the value of a field that was entered, from a byte of a line on.
func (s *yamlScanner) readValue(line string, from, indent int) bool {
	value := line[from:]
	value = decorated.ReplaceAllString(value, "")
	s.isValue, s.start = true, len(line)-len(value)
	switch top := &s.frames[len(s.frames)-1]; {
	case strings.HasPrefix(value, "{"), strings.HasPrefix(value, "["):
		return s.readFlow(line, s.start)
	case strings.HasPrefix(value, "|"), strings.HasPrefix(value, ">"):
		s.scalar = indent
	case !strings.HasPrefix(value, "#"):
		word, _, _ := strings.Cut(value, " #")
		top.beside[top.key] = strings.Trim(word, `"' `)
	}
	return true
}

// readFlow reads what is in braces and brackets, from a byte of a line on.
func (s *yamlScanner) readFlow(line string, from int) bool {
	token := from
	for i := from; i < len(line); i++ {
		switch b := line[i]; {
		case s.quoted:
			s.quoted = b != '"'
			continue
		case b == '"' && strings.TrimSpace(line[token:i]) == "":
			s.quoted = true
		case b == '#' && (i == 0 || line[i-1] == ' '):
			return false
		case b == '{', b == '[':
			s.flow = append(s.flow, yamlFrame{isList: b == '[', beside: map[string]string{}})
			s.isValue, token = b == '[', i+1
		case b == ':' && (i+1 == len(line) || line[i+1] == ' ') && !s.flow[len(s.flow)-1].isList:
			s.flow[len(s.flow)-1].key = strings.Trim(line[token:i], `"' `)
			s.isValue, token = true, i+1
		case b == ',', b == '}', b == ']':
			top := &s.flow[len(s.flow)-1]
			if top.key != "" && s.isValue {
				top.beside[top.key] = strings.Trim(line[token:i], `"' `)
			}
			if top.key, s.isValue, token = "", top.isList, i+1; b == ',' {
				continue
			}
			if s.flow = s.flow[:len(s.flow)-1]; len(s.flow) == 0 {
				return false
			}
			s.isValue = true
		}
	}
	s.start = token
	return true
}
