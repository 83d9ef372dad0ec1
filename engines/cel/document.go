package cel

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/libretto-k8s/libretto/engines"
)

// document compiles a script that is a YAML document:
//
//	variables:              # in this order, each for those after it and for the response
//	- {name: replicas, expression: parent.spec.replicas}
//	- {name: labels, value: {app: "${parent.metadata.name}"}}
//	response:               # what the hook answers, with holes
//	  status: {replicas: "${variables.replicas}"}
//
// or, in place of response, hooks with a response and further variables each:
//
//	hooks:
//	  sync: {response: ...}
//	  finalize: {variables: ..., response: ...}
type document struct {
	*compilation
	file     *yamlFile
	depth    int
	anchored map[*yaml.Node]node
	aliases  int // around what is compiled
	aliased  int // parts that were compiled for aliases
	// scalars are the compiled ones, for the outline.
	scalars map[*yaml.Node]node
}

func (c *compilation) document(content string) node {
	d := &document{compilation: c, file: newYAMLFile(c.src.Script.Path, content)}
	d.anchored, d.scalars = map[*yaml.Node]node{}, map[*yaml.Node]node{}
	root := d.parse(content)
	if root == nil {
		return nil
	}
	fields := d.structure(root, "variables", "response", "hooks")
	if fields["response"] != nil && fields["hooks"] != nil {
		d.addNodeErrorf(fields["hooks"], "response and hooks exclude each other: put the response into hooks.%s", c.src.Hook)
		return nil
	}
	if fields["hooks"] != nil {
		return d.severalHooks(fields["variables"], fields["hooks"])
	}
	if !c.isFunction(c.src.Hook) {
		d.addNodeErrorf(root, "function is %q, and this document answers the hook %s only: leave function out, or write hooks",
			c.src.Script.Function, c.src.Hook)
		return nil
	}
	return d.body(root, fields)
}

// body compiles variables and response of one hook.
func (d *document) body(at *yaml.Node, fields map[string]*yaml.Node) node {
	d.defineAll(fields["variables"])
	if fields["response"] == nil {
		d.addNodeErrorf(at, "response is required: it is what the hook answers")
		return nil
	}
	response := d.single(fields["response"])
	if d.src.Script.Outline && len(d.problems) == 0 {
		d.outline = d.outlineOf(d.outlined(fields["response"]))
	}
	return response
}

// severalHooks compiles the one that is asked for. Variables of all hooks are
// checked against all that requests can have: each hook evaluates those it uses.
func (d *document) severalHooks(shared, hooks *yaml.Node) node {
	name := d.src.Script.Function
	if name == "" {
		name = d.src.Hook
	}
	own := d.fields
	d.useFields(fieldsOf(""))
	d.defineAll(shared)
	d.useFields(own)
	byName := d.structure(hooks)
	hook := byName[name]
	if hook == nil {
		d.addNodeErrorf(hooks, "no hook %q: there are %s", name, strings.Join(slices.Sorted(maps.Keys(byName)), ", "))
		return nil
	}
	return d.body(hook, d.structure(hook, "variables", "response"))
}

func (d *document) useFields(fields []string) {
	if err := d.use(fields); err != nil {
		d.addError(engines.Location{File: d.file.path}, err.Error())
	}
}
