package cel

import (
	"github.com/google/cel-go/common"

	"github.com/libretto-k8s/libretto/engines"
)

// position is a position in the author's file, counted from 1, in characters.
type position struct{ line, column int }

// sourceText is source code that knows, for each of its characters, where it stands in
// the author's file. A part of a YAML scalar does not stand there as it reads:
// indentation, escapes and folded lines are between.
type sourceText struct {
	file   string
	runes  []rune
	places []position // one more than runes: the last one is the end's
}

// wholeFile returns the text of a file as it is.
func wholeFile(file, content string) sourceText {
	t := sourceText{file: file, runes: []rune(content)}
	at := position{1, 1}
	for _, r := range t.runes {
		t.places = append(t.places, at)
		at.column++
		if r == '\n' {
			at = position{at.line + 1, 1}
		}
	}
	t.places = append(t.places, at)
	return t
}

func (t sourceText) String() string { return string(t.runes) }

// cut returns the part between two indices of characters.
func (t sourceText) cut(from, to int) sourceText {
	return sourceText{file: t.file, runes: t.runes[from:to], places: t.places[from : to+1]}
}

// at returns where the character of an index stands. CEL has -1 for what has no position,
// such as the end of an empty text.
func (t sourceText) at(index int) engines.Location {
	p := t.places[min(max(index, 0), len(t.places)-1)]
	return engines.Location{File: t.file, Line: p.line, Column: p.column}
}

// offset returns the index of the rune at a location of CEL.
func (t sourceText) offset(l common.Location) int {
	index := 0
	for line := 1; line < l.Line(); line++ {
		for index < len(t.runes) && t.runes[index] != '\n' {
			index++
		}
		index++
	}
	return index + l.Column()
}
