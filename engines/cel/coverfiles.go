package cel

import (
	"maps"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
)

// allPoints returns the points of the program and, not covered, those of all other expressions in the script's files. It
// returns nil if the script asks for no coverage.
func (c *compilation) allPoints() ([]engines.CoveragePoint, error) {
	if !c.src.Script.Coverage {
		return nil, nil
	}
	known := map[engines.CoveragePoint]bool{}
	points := append([]engines.CoveragePoint{}, c.points...)
	for _, p := range points {
		known[p] = true
	}
	for _, name := range slices.Sorted(maps.Keys(c.src.Script.Files)) {
		if !isCode(name) {
			continue
		}
		for _, p := range c.pointsOf(name) {
			if !known[p] {
				known[p] = true
				points = append(points, p)
			}
		}
	}
	if len(points) > engines.MaxCoveragePoints {
		return nil, engines.TooManyPoints(c.src.Script.Path)
	}
	return points, nil
}

// pointsOf returns the points of all hooks in a file. Expressions that do not compile have none.
func (c *compilation) pointsOf(name string) []engines.CoveragePoint {
	content := strings.TrimPrefix(c.src.Script.Files[name], engines.ByteOrderMark)
	other := *c.src.Script
	other.Path, other.Function = name, ""
	hooks := []string{c.src.Hook}
	if isDocument(name, content) {
		hooks = append(hooks, hooksOf(name, content)...)
	}
	var points []engines.CoveragePoint
	for _, hook := range hooks {
		src := c.src
		src.Hook, src.Script = hook, &other
		of, err := newCompilation(c.ctx, c.base, src)
		if err == nil {
			err = of.use(fieldsOf(""))
		}
		switch {
		case err != nil:
		case isDocument(name, content):
			of.document(content)
		default:
			of.expression(content)
		}
		points = append(points, of.points...)
	}
	return points
}

// hooksOf returns the names of the hooks of a document, if it has several.
func hooksOf(name, content string) []string {
	d := &document{compilation: &compilation{}, file: newYAMLFile(name, content)}
	root := d.parse(content)
	if root == nil {
		return nil
	}
	hooks := d.structure(root)["hooks"]
	if hooks == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(d.structure(hooks)))
}
