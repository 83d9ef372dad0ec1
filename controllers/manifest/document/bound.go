package document

import (
	"go.yaml.in/yaml/v3"
)

// bound returns an error if the tree is too deep or too large, with its aliases expanded.
func (p part) bound(root *yaml.Node) *Error {
	c := counter{part: p, expanded: map[*yaml.Node]extent{}, limit: maxValues}
	if p.values != nil {
		c.limit = *p.values
	}
	sum := c.count(root, 0)
	if c.err == nil && p.values != nil {
		*p.values -= sum.values
	}
	return c.err
}

// extent is how much a node holds.
type extent struct {
	values, depth int
	open          bool // It is being counted.
}

// counter counts the values of a tree. It counts a node with an anchor once.
type counter struct {
	part
	expanded map[*yaml.Node]extent // of nodes with an anchor
	limit    int
	err      *Error
}

// count returns the extent of a node below others, with its aliases expanded. It ends with an error, and some extent, as soon
// as that is too large.
func (c *counter) count(node *yaml.Node, below int) extent {
	if node.Kind == yaml.AliasNode {
		return c.alias(node, below)
	}
	if node.Anchor != "" {
		c.expanded[node] = extent{open: true}
	}
	sum := extent{values: 1}
	for _, inner := range node.Content {
		if c.err != nil {
			break
		}
		e := c.count(inner, below+1)
		sum.values, sum.depth = sum.values+e.values, max(sum.depth, e.depth+1)
		c.check(node, sum, below)
	}
	if node.Anchor != "" {
		c.expanded[node] = sum
	}
	return sum
}

func (c *counter) alias(node *yaml.Node, below int) extent {
	e, known := c.expanded[node.Alias]
	if !known {
		return c.count(node.Alias, below)
	}
	if e.open && c.err == nil {
		c.err = errorAt(c.place(node), "the alias *%s is inside of what it stands for", node.Value)
	}
	c.check(node, e, below)
	return e
}

func (c *counter) check(node *yaml.Node, e extent, below int) {
	switch {
	case c.err != nil:
	case e.depth+below > maxDepth:
		c.err = errorAt(c.place(node), "is nested deeper than %d", maxDepth)
	case e.values > c.limit:
		c.err = errorAt(c.place(node), "holds more than %d values, with aliases expanded: write out what is meant, or split the file", c.limit)
	}
}

// duplicates returns an error for each key that a mapping has twice.
func (p part) duplicates(node *yaml.Node) []*Error {
	var problems []*Error
	if node.Kind == yaml.MappingNode {
		first := map[string]*yaml.Node{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml.ScalarNode || key.Value == "<<" {
				continue
			}
			if earlier := first[key.Value]; earlier != nil {
				problems = append(problems, errorAt(p.place(key), "%s is given twice: it is on line %d too", key.Value, p.before+earlier.Line))
			}
			first[key.Value] = key
		}
	}
	for _, inner := range node.Content {
		problems = append(problems, p.duplicates(inner)...)
	}
	return problems
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }
