package recording

import (
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Escape sequences that test/steps prints.
const (
	reset = "\033[0m"
	bold  = "\033[1m"
	cyan  = "\033[36m"
)

// classes are the classes of the picture by escape sequence.
var classes = map[string]string{reset: "", bold: "bold", "\033[31m": "bad", "\033[32m": "good", cyan: "command"}

var escape = regexp.MustCompile("\033\\[[0-9;]*m")

// Measures of the picture in pixels, and its width in characters. Longer lines are wrapped.
const (
	columns    = 110
	charWidth  = 8
	lineHeight = 19
	padding    = 16
)

// style has the colours for light and dark pages, and lets each line appear at its time. Where nothing is animated all is visible.
const style = `
    .page { fill: #f6f8fa; stroke: #d0d7de }
    text { fill: #1f2328; font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
    .bold { font-weight: 700 }
    .good { fill: #116329 }
    .bad { fill: #a40e26 }
    .command { fill: #0550ae }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; stroke: #3d444d }
      text { fill: #e6edf3 }
      .good { fill: #56d364 }
      .bad { fill: #ff7b72 }
      .command { fill: #79c0ff }
    }
    @keyframes appear { from { opacity: 0 } }
    g { animation: appear 0.01s both }
    @media (prefers-reduced-motion: reduce) { g { animation: none } }
  `

// WriteSVG writes a picture of the lines. Its title is for those who cannot see it.
func WriteSVG(out io.Writer, title string, lines []Line) error {
	var rows strings.Builder
	count := 0
	for _, line := range lines {
		fmt.Fprintf(&rows, "  <g style=\"animation-delay: %.2fs\">\n", line.At.Seconds())
		for _, row := range wrap(parse(line.Text)) {
			writeRow(&rows, row, padding+lineHeight*count+lineHeight*3/4)
			count++
		}
		rows.WriteString("  </g>\n")
	}
	width, height := 2*padding+columns*charWidth, 2*padding+count*lineHeight
	_, err := fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" xml:space="preserve">
  <title>%[3]s</title>
  <style>%[4]s</style>
  <rect class="page" x="0.5" y="0.5" width="%[5]d" height="%[6]d" rx="8"/>
%[7]s</svg>
`, width, height, html.EscapeString(title), style, width-1, height-1, rows.String())
	return err
}

// span is text of one colour.
type span struct{ class, text string }

// parse splits a line where its colour changes. Escape sequences that are not colours are dropped.
func parse(text string) []span {
	var spans []span
	class, begin := "", 0
	for _, at := range append(escape.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if begin < at[0] {
			spans = append(spans, span{class, text[begin:at[0]]})
		}
		class, begin = classes[text[at[0]:at[1]]], at[1]
	}
	return spans
}

// continuation is how far rows are indented that continue a line.
const continuation = 6

// wrap returns the rows of a line, of at most the width of the picture. A row ends at a space if it can. An empty line is one empty row.
func wrap(spans []span) [][]span {
	rows := [][]span{nil}
	free := columns
	for _, s := range spans {
		for rest := []rune(s.text); len(rest) > 0; {
			if free == 0 {
				rows, free = append(rows, []span{{"", strings.Repeat(" ", continuation)}}), columns-continuation
			}
			part := rest[:min(free, len(rest))]
			whole := len(part) == len(rest)
			if text := string(part); !whole {
				if words := text[:strings.LastIndex(text, " ")+1]; strings.TrimSpace(words) != "" {
					part = []rune(words)
				}
			}
			last := len(rows) - 1
			rows[last] = append(rows[last], span{s.class, string(part)})
			rest, free = rest[len(part):], free-len(part)
			if !whole {
				free = 0
			}
		}
	}
	return rows
}

// writeRow writes a row. Each span has its place and its width, whatever font the reader has.
func writeRow(out io.Writer, row []span, y int) {
	column := 0
	for _, s := range row {
		text := strings.TrimLeft(s.text, " ")
		start := column + len(s.text) - len(text)
		column += utf8.RuneCountInString(s.text)
		if text == "" {
			continue
		}
		class := ""
		if s.class != "" {
			class = fmt.Sprintf(" class=%q", s.class)
		}
		fmt.Fprintf(out, "    <text%s x=\"%d\" y=\"%d\" textLength=\"%d\">%s</text>\n", class,
			padding+start*charWidth, y, (column-start)*charWidth, html.EscapeString(text))
	}
}
