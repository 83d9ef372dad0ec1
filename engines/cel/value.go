package cel

import (
	"math"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"
)

// scalar compiles a scalar: a value that is not text, one hole, or text.
func (d *document) scalar(y *yaml.Node) node {
	switch tag := y.ShortTag(); tag {
	case "!!str", "!!timestamp":
		return d.textNode(y)
	case "!!null", "!!bool", "!!int", "!!float":
		return d.literal(y)
	default:
		d.addNodeErrorf(y, "the tag %s is not supported: leave it out", tag)
		return nil
	}
}

// literal returns a value that is the same in all responses. Whole numbers beyond int64
// become float64, as when Kubernetes decodes JSON.
func (d *document) literal(y *yaml.Node) node {
	var v any
	if err := y.Decode(&v); err != nil {
		d.addNodeErrorf(y, "%v", err)
		return nil
	}
	switch n := v.(type) {
	case int:
		v = int64(n)
	case uint64:
		v = float64(n)
	case float64:
		if math.IsNaN(n) || math.IsInf(n, 0) {
			d.addNodeErrorf(y, "%s is no number in JSON: quote it, if it is a text", y.Value)
		}
	}
	return &constant{value: v}
}

// textNode compiles a text. If it is one hole, and nothing else but the end of a
// block's last line, it is the value of the hole, of any type.
func (d *document) textNode(y *yaml.Node) node {
	t := d.file.scalar(y)
	if y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		hole := t.cut(0, len(strings.TrimRight(y.Value, "\n"))-len(y.Value)+len(t.runes))
		if hasPrefixAt(hole.runes, 0, "${") && holeEnd(hole.runes, 2) == len(hole.runes)-1 {
			t = hole
		}
	}
	all, unclosed := parts(t)
	switch {
	case unclosed >= 0:
		d.addError(t.at(unclosed), unclosedHole)
		return nil
	case len(all) == 1 && all[0].code != nil:
		return &hole{code: d.hole(*all[0].code)}
	}
	n := d.pieces(all)
	if words, fixed := n.constantText(); fixed {
		return &constant{value: words}
	}
	return n
}

const unclosedHole = "the hole is not closed: no } ends it. Quote the text if there is a ' #' in it, which starts a comment in YAML, and close each quote and bracket in the hole"

// joined compiles a text that stays one.
func (d *document) joined(t sourceText) template {
	all, unclosed := parts(t)
	if unclosed >= 0 {
		d.addError(t.at(unclosed), unclosedHole)
	}
	return d.pieces(all)
}

func (d *document) pieces(all []part) template {
	n := template{}
	for _, p := range all {
		if p.code == nil {
			n = append(n, segment{literal: p.literal})
			continue
		}
		code := d.hole(*p.code)
		if code != nil && !isTextual(code.output) {
			d.addError(p.code.at(0), notText(cel.FormatCELType(code.output)))
		}
		n = append(n, segment{code: code})
	}
	return n
}

func (d *document) hole(code sourceText) *expression {
	if strings.TrimSpace(code.String()) == "" {
		d.addError(code.at(0), "the hole is empty: write ${expression}, or $${ for the text ${")
		return nil
	}
	return d.compile(code)
}

// isTextual reports whether values of the type can be part of a text.
func isTextual(t *cel.Type) bool {
	switch t.Kind() {
	case types.ListKind, types.MapKind, types.NullTypeKind, types.TypeKind:
		return false
	default:
		return t.TypeName() != types.OptionalType.TypeName()
	}
}

// constantText returns the text, if it has no holes.
func (n template) constantText() (string, bool) {
	var b strings.Builder
	for _, p := range n {
		if p.code != nil {
			return "", false
		}
		b.WriteString(p.literal)
	}
	return b.String(), true
}
