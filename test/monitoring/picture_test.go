package monitoring

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// Sizes of the picture in pixels: a column and a row of Grafana's grid, and what is around a chart in its panel.
const (
	column, gridRow          = 50.0, 24.0
	gap                      = 4.0
	headHeight, legendHeight = 24.0, 18.0
	axisWidth                = 46.0
)

var colours = []string{"#73bf69", "#f2cc0c", "#5794f2", "#ff9830", "#f2495c", "#b877d9", "#8ab8ff", "#96d98d"}

// draw returns the dashboard as an SVG.
func draw(d dashboard, drawn map[int]promql.Matrix, r *record) []byte {
	bottom := 0
	for _, p := range d.Panels {
		bottom = max(bottom, p.GridPos.Y+p.GridPos.H)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="system-ui, sans-serif" font-size="11" fill="#ccccdc">
<title>The dashboard after the demo: hosts, definitions, edits, hooks, queue, memory, API requests</title>
<style>polyline{fill:none;stroke-width:1.5}.panel{fill:#181b1f;stroke:#2c3235}.title{font-weight:600;font-size:12px}.axis{fill:#8e8e99}.end{text-anchor:end}</style>
<rect width="100%%" height="100%%" fill="#111217"/>
`, 24*column, float64(bottom)*gridRow)
	for _, p := range d.Panels {
		box := box{float64(p.GridPos.X)*column + gap, float64(p.GridPos.Y)*gridRow + gap, float64(p.GridPos.W)*column - 2*gap, float64(p.GridPos.H)*gridRow - 2*gap}
		if p.Type == "row" {
			box.text(&out, "title", 2, 15, p.Title)
			continue
		}
		fmt.Fprintf(&out, `<rect class="panel" x="%g" y="%g" width="%g" height="%g" rx="2"/>`+"\n", box.x, box.y, box.w, box.h)
		box.text(&out, "title", 8, 16, p.Title)
		unit := unitOf(p.FieldConfig.Defaults.Unit)
		switch series := drawn[p.ID]; {
		case len(series) == 0:
			box.text(&out, "axis", 8, box.h/2, "No data: "+withoutData[p.Title])
		case p.Type == "stat":
			last := series[0].Floats[len(series[0].Floats)-1].F
			fmt.Fprintf(&out, `<text x="%g" y="%g" font-size="44" fill="%s" text-anchor="middle">%s</text>`+"\n", box.x+box.w/2, box.y+box.h/2+22, colours[0], unit(last))
		case p.Type == "table":
			drawTable(&out, box, series)
		default:
			drawChart(&out, box, series, unit, r)
		}
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

type box struct{ x, y, w, h float64 }

// text writes a text at a place in the box.
func (b box) text(out *bytes.Buffer, class string, x, y float64, text string) {
	fmt.Fprintf(out, `<text class="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, b.x+x, b.y+y, html.EscapeString(text))
}

// drawTable writes the labels of each series as a line.
func drawTable(out *bytes.Buffer, b box, series promql.Matrix) {
	y := headHeight + 14
	for _, s := range series {
		if y > b.h {
			return
		}
		b.text(out, "", 8, y, fit(name(s.Metric), b.w-16))
		y += 17
	}
}

// drawChart draws lines, with the highest value, the seconds, and the names of the series.
func drawChart(out *bytes.Buffer, b box, series promql.Matrix, unit func(float64) string, r *record) {
	top := 0.0
	for _, s := range series {
		for _, p := range s.Floats {
			top = max(top, p.F)
		}
	}
	if top == 0 {
		top = 1
	}
	left, width := axisWidth, b.w-axisWidth-10
	high, height := headHeight, b.h-headHeight-2*legendHeight
	b.text(out, "axis end", left-5, high+8, unit(top))
	b.text(out, "axis end", left-5, high+height, unit(0))
	b.text(out, "axis", left, high+height+13, "0 s")
	b.text(out, "axis end", left+width, high+height+13, r.end.Sub(r.start).Round(time.Second).String())
	// The largest are named first, as far as there is room.
	slices.SortStableFunc(series, func(a, b promql.Series) int { return cmp.Compare(last(b), last(a)) })
	x := 8.0
	for i, s := range series {
		colour := colours[i%len(colours)]
		var points []string
		for _, p := range s.Floats {
			at := float64(p.T-r.start.UnixMilli()) / float64(r.end.Sub(r.start).Milliseconds())
			points = append(points, fmt.Sprintf("%.0f,%.0f", b.x+left+at*width, b.y+high+height*(1-p.F/top)))
		}
		if len(points) == 1 { // A line of one point is not visible.
			points = append(points, points[0])
		}
		fmt.Fprintf(out, `<polyline stroke="%s" stroke-linecap="round" points="%s"/>`+"\n", colour, strings.Join(points, " "))
		label := fit(name(s.Metric), b.w-16)
		if needed := textWidth(label) + 16; x+needed <= b.w && label != "" {
			fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="8" height="3" fill="%s"/>`+"\n", b.x+x, b.y+b.h-10, colour)
			b.text(out, "", x+11, b.h-6, label)
			x += needed + 6
		}
	}
}

func last(s promql.Series) float64 { return s.Floats[len(s.Floats)-1].F }

// name returns the values of the labels.
func name(series labels.Labels) string {
	var values []string
	series.Range(func(l labels.Label) { values = append(values, l.Value) })
	return strings.Join(values, " ")
}

func textWidth(text string) float64 { return 6.3 * float64(len(text)) }

// fit returns as much of a text as there is room for.
func fit(text string, width float64) string {
	if n := int(width / 6.3); len(text) > n {
		return text[:n-1] + "…"
	}
	return text
}

// unitOf returns what prints a number with one of Grafana's units.
func unitOf(unit string) func(float64) string {
	switch unit {
	case "bytes":
		return func(v float64) string { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }
	case "s":
		return func(v float64) string {
			return (time.Duration(v * float64(time.Second))).Round(100 * time.Microsecond).String()
		}
	case "percentunit":
		return func(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) }
	}
	return func(v float64) string { return fmt.Sprintf("%.3g", v) }
}
