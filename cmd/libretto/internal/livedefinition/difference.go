package livedefinition

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

const (
	// maxCompared is the size of a text, and maxComparedInAll that of all, up to which a difference is shown line by line.
	maxCompared      = 1 << 20
	maxComparedInAll = 16 << 20
	// maxComparedLines bounds the lines of a text: it takes time of their product.
	maxComparedLines = 10000
	// maxLine is how much of a line is shown.
	maxLine = 2 << 10
	// contextLines is how many lines are shown around a difference.
	contextLines = 3
)

// WriteDifference writes the unified diff of the files of two revisions.
func WriteDifference(out io.Writer, from, to *RevisionFiles, colour bool) error {
	before, after := from.texts(), to.texts()
	paths := slices.Sorted(maps.Keys(before))
	for path := range after {
		if _, known := before[path]; !known {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	w := &differenceWriter{out: out, colour: colour}
	for _, path := range paths {
		a, hadA := before[path]
		b, hasB := after[path]
		if hadA == hasB && a == b {
			continue
		}
		w.file(nameIn(from.ID, path, hadA), nameIn(to.ID, path, hasB), a, b)
	}
	if w.files == 0 {
		w.line("", "the files of both are the same")
	}
	return w.err
}

// nameIn returns the name of a file in a header.
func nameIn(revision, path string, exists bool) string {
	if !exists {
		return "/dev/null"
	}
	return shortID(revision) + "/" + path
}

type differenceWriter struct {
	out      io.Writer
	colour   bool
	files    int
	compared int
	err      error
}

func (w *differenceWriter) file(nameA, nameB, a, b string) {
	w.files++
	w.line("\x1b[1m", "--- "+nameA)
	w.line("\x1b[1m", "+++ "+nameB)
	linesA, linesB := linesOf(a), linesOf(b)
	w.compared += len(a) + len(b)
	if max(len(a), len(b)) > maxCompared || max(len(linesA), len(linesB)) > maxComparedLines || w.compared > maxComparedInAll {
		w.line("", fmt.Sprintf("too large to compare by lines: %d bytes in %d lines, and %d bytes in %d lines",
			len(a), len(linesA), len(b), len(linesB)))
		return
	}
	for _, group := range difflib.NewMatcher(linesA, linesB).GetGroupedOpCodes(contextLines) {
		first, last := group[0], group[len(group)-1]
		w.line("\x1b[36m", fmt.Sprintf("@@ -%s +%s @@", span(first.I1, last.I2), span(first.J1, last.J2)))
		for _, code := range group {
			if code.Tag == 'e' {
				w.lines("", " ", linesA[code.I1:code.I2])
				continue
			}
			w.lines("\x1b[31m", "-", linesA[code.I1:code.I2])
			w.lines("\x1b[32m", "+", linesB[code.J1:code.J2])
		}
	}
}

// linesOf returns the lines of a text, the last one marked if it has no end.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	whole, ended := strings.CutSuffix(text, "\n")
	lines := strings.Split(whole, "\n")
	if !ended {
		lines[len(lines)-1] += "\n\\ No newline at end of file"
	}
	return lines
}

// span returns lines as the header of a hunk has them.
func span(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func (w *differenceWriter) lines(colour, sign string, lines []string) {
	for _, line := range lines {
		w.line(colour, sign+line)
	}
}

// line writes a line without what a terminal obeys.
func (w *differenceWriter) line(colour, line string) {
	if w.err != nil {
		return
	}
	if len(line) > maxLine {
		line = engines.Truncate(line, maxLine)
	}
	line = printable.Text(line)
	if w.colour && colour != "" {
		line = colour + line + "\x1b[0m"
	}
	_, w.err = fmt.Fprintln(w.out, line)
}
