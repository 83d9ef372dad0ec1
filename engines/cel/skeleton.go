package cel

import (
	"go.yaml.in/yaml/v3"
)

// skeleton compiles a part of the response. What is wrong is noted, and the node
// is then of no use.
func (d *document) skeleton(y *yaml.Node) node {
	d.depth++
	defer func() { d.depth-- }()
	if d.depth > maxSourceNesting {
		d.addNodeErrorf(y, "is nested more than %d deep", maxSourceNesting)
		return nil
	}
	if d.aliases > 0 {
		if d.aliased++; d.aliased > maxAliased {
			d.addNodeErrorf(y, "aliases stand for more than %d parts of the document", maxAliased)
			return nil
		}
	}
	switch y.Kind {
	case yaml.AliasNode:
		return d.alias(y)
	case yaml.MappingNode:
		return d.mapping(y)
	case yaml.SequenceNode:
		return d.sequence(y)
	default:
		d.scalars[y] = d.scalar(y)
		return d.scalars[y]
	}
}

// alias compiles what an alias stands for, once for all its aliases.
func (d *document) alias(y *yaml.Node) node {
	if _, known := d.anchored[y.Alias]; !known {
		d.anchored[y.Alias] = nil
		d.aliases++
		d.anchored[y.Alias] = d.skeleton(y.Alias)
		d.aliases--
	} else if d.anchored[y.Alias] == nil && len(d.problems) == 0 {
		d.addNodeErrorf(y, "*%s stands within what it stands for", y.Value)
	}
	return d.anchored[y.Alias]
}

func (d *document) mapping(y *yaml.Node) node {
	d.checkTag(y, "!!map")
	if n, ok := d.directed(y); ok {
		return n
	}
	n, seen := mapping{}, map[string]bool{}
	for i := 0; i < len(y.Content); i += 2 {
		key := d.key(y.Content[i])
		if name, fixed := key.constantText(); fixed {
			if seen[name] {
				d.addNodeErrorf(y.Content[i], "the field %q stands here twice", name)
			}
			seen[name] = true
		}
		n = append(n, entry{key: key, value: d.single(y.Content[i+1])})
	}
	return n.fold()
}

// single compiles a part that is no item of a list.
func (d *document) single(y *yaml.Node) node {
	n := d.skeleton(y)
	if _, ok := n.(*repeated); ok {
		d.addNodeErrorf(y, "${forEach} stands in the items of lists, and this is none")
	}
	return n
}

// fold returns a constant, if nothing in n has a hole.
func (n mapping) fold() node {
	fields := map[string]any{}
	for _, f := range n {
		name, fixed := f.key.constantText()
		c, constantValue := f.value.(*constant)
		if !fixed || !constantValue {
			return n
		}
		fields[name] = c.value
	}
	return &constant{value: fields}
}

func (d *document) sequence(y *yaml.Node) node {
	d.checkTag(y, "!!seq")
	n := sequence{}
	for _, item := range y.Content {
		n = append(n, d.skeleton(item))
	}
	return n.fold()
}

func (n sequence) fold() node {
	elements := []any{}
	for _, item := range n {
		c, ok := item.(*constant)
		if !ok {
			return n
		}
		elements = append(elements, c.value)
	}
	return &constant{value: elements}
}

// key compiles the name of a field. A name that is not a string in YAML, such as 80 or true,
// is its source text.
func (d *document) key(y *yaml.Node) template {
	y = resolveAlias(y)
	switch {
	case y.Kind != yaml.ScalarNode:
		d.addNodeErrorf(y, "the name of a field is a text: put a text that begins with { or [ into quotes; an expression is in ${}")
		return nil
	case y.ShortTag() == "!!merge":
		d.addNodeErrorf(y, "merge keys are not supported: write a hole with merge(a, b)")
		return nil
	default:
		return d.joined(d.file.scalar(y))
	}
}

// checkTag refuses tags other than the one that the value has anyway.
func (d *document) checkTag(y *yaml.Node, tag string) {
	if found := y.ShortTag(); found != tag {
		d.addNodeErrorf(y, "the tag %s is not supported: leave it out", found)
	}
}
