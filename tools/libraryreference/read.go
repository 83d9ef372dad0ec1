package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// section is a group of declarations below a title.
type section struct {
	title   string
	entries []entry
}

// entry is a function, or a type of arguments, which has no example.
type entry struct {
	name, doc, declaration string
	call, result           string
	inCEL                  bool
}

const inCEL = "Also in CEL."

var (
	titleLine   = regexp.MustCompile(`^// (.+)$`)
	declaredAs  = regexp.MustCompile(`^export (function|interface) (\w+)`)
	declaration = regexp.MustCompile(`^(?:export .*;|}?\): .*;|})$`)
)

// read returns the declarations below titles.
func read(text string) ([]section, error) {
	var all []section
	var doc, open []string
	inDoc := false
	for line := range strings.SplitSeq(text, "\n") {
		switch title := titleLine.FindStringSubmatch(line); {
		case title != nil && open == nil:
			all = append(all, section{title: title[1]})
		case strings.HasPrefix(line, "/**"):
			doc, inDoc = []string{strings.TrimSuffix(strings.TrimPrefix(line, "/**"), "*/")}, !strings.HasSuffix(line, "*/")
		case inDoc && strings.HasSuffix(line, "*/"):
			inDoc = false
		case inDoc:
			doc = append(doc, strings.TrimPrefix(strings.TrimPrefix(line, " *"), " "))
		case open != nil || declaredAs.MatchString(line):
			if open = append(open, line); !declaration.MatchString(line) {
				continue
			}
			if len(all) > 0 {
				e, err := newEntry(open, doc)
				if err != nil {
					return nil, err
				}
				last := &all[len(all)-1]
				last.entries = append(last.entries, e)
			}
			doc, open = nil, nil
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no line comment is the title of a section")
	}
	return all, nil
}

func newEntry(lines, doc []string) (entry, error) {
	declared := declaredAs.FindStringSubmatch(lines[0])
	e := entry{name: declared[2], declaration: strings.Join(lines, "\n")}
	for i, line := range doc {
		if strings.TrimSpace(line) == "@example" {
			e.example(doc[i+1:])
			doc = doc[:i]
			break
		}
	}
	e.doc = strings.Join(strings.Fields(strings.Join(doc, " ")), " ")
	if rest, found := strings.CutSuffix(e.doc, inCEL); found {
		e.doc, e.inCEL = strings.TrimSpace(rest), true
	}
	switch {
	case e.doc == "":
		return e, fmt.Errorf("%s: has no comment", e.name)
	case declared[1] == "function" && (!strings.HasPrefix(e.call, e.name+"(") || e.result == ""):
		return e, fmt.Errorf("%s: its comment has no @example with a call of it and the result in // comments", e.name)
	}
	return e, nil
}

// example takes the call and the result.
func (e *entry) example(lines []string) {
	var call, result []string
	for _, line := range lines {
		if comment, ok := strings.CutPrefix(line, "// "); ok {
			result = append(result, comment)
		} else {
			call = append(call, line)
		}
	}
	e.call, e.result = strings.TrimSpace(strings.Join(call, "\n")), strings.Join(result, "\n")
}
