package rbac

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/definition/rights"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// printer is one use of the command.
type printer struct {
	cli.Process
	*options
	set         *manifest.Set
	definitions []rights.Definition
}

// printed are objects that belong together, and what they are for.
type printed struct {
	title   string
	objects []any
}

// print prints what the definitions or the host need.
func (p *printer) print() error {
	var all []printed
	for _, d := range p.definitions {
		if p.ofHost {
			all = append(all, p.ofHostFor(d))
		} else {
			all = append(all, p.ofDefinition(d))
		}
	}
	if len(all) == 0 {
		needs := rights.OfHost(p.startedAs())
		all = append(all, printed{"What the host needs itself", objectsOf("libretto-serve", p.hostAccount(), rights.Grants(needs))})
	}
	if p.output == "json" {
		items := []any{}
		for _, one := range all {
			items = append(items, one.objects...)
		}
		return cli.WriteJSON(p.Stdout, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	}
	return writeYAML(p.Stdout, all)
}

// ofDefinition returns the roles of a definition, and their bindings.
func (p *printer) ofDefinition(d rights.Definition) printed {
	account := d.Plan.Config.Account
	if account.IsHost() {
		account = p.hostAccount()
	}
	name := "libretto-" + nameOf(d)
	title := fmt.Sprintf("What %s needs as ServiceAccount %s/%s", d.Plan.Config.Definition, account.Namespace, account.Name)
	withParents := func(need rights.Need) bool { return need.Place == rights.WithParents && need.Namespaced }
	if !d.Plan.Config.Account.IsHost() && len(p.namespacesOf(d)) == 0 && slices.ContainsFunc(d.Needs, withParents) {
		p.warn(fmt.Sprintf("%s: the ServiceAccount %s/%s gets rights in all namespaces: name those of the parents, as with --parents-in=%s",
			d.Plan.Config.Definition, account.Namespace, account.Name, account.Namespace))
	}
	return printed{title, objectsOf(name, account, rights.Grants(d.Needs, p.namespacesOf(d)...))}
}

// ofHostFor returns the roles that the host needs for a definition, and their bindings.
func (p *printer) ofHostFor(d rights.Definition) printed {
	title := fmt.Sprintf("What the host needs for %s", d.Plan.Config.Definition)
	needs := rights.OfHostFor(d, p.startedAs())
	if p.applies {
		has := func(name types.NamespacedName) bool { return slices.Contains(p.set.ConfigMaps(), name) }
		needs = append(needs, rights.ToApply(d, has)...)
	}
	grants := rights.Grants(needs, p.namespacesOf(d)...)
	return printed{title, objectsOf("libretto-host-"+nameOf(d), p.hostAccount(), grants)}
}

// namespacesOf returns the namespaces of the parents of a definition, or none if these are not known.
func (p *printer) namespacesOf(d rights.Definition) []string {
	if own := d.Plan.Namespace; own != "" {
		return []string{own}
	}
	return p.namespaces
}

// nameOf returns what a definition is called in the names of roles, such as composite-hello, or composite-shop:hello with a namespace.
func nameOf(d rights.Definition) string {
	return d.Plan.ShortKind() + "-" + strings.TrimPrefix(d.Plan.Namespace+":"+d.Plan.Name, ":")
}

func objectsOf(name string, account identity.Account, grants []rights.Grant) (objects []any) {
	for _, grant := range grants {
		role, binding := grant.Role(name, account)
		objects = append(objects, role, binding)
	}
	return objects
}

// writeYAML writes objects as documents, with a comment before those that belong together.
func writeYAML(out io.Writer, all []printed) error {
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	for _, one := range all {
		for i, object := range one.objects {
			node, err := nodeOf(object)
			if err != nil {
				return err
			}
			if i == 0 {
				node.HeadComment = one.title + "."
			}
			if err := encoder.Encode(node); err != nil {
				return err
			}
		}
	}
	return encoder.Close()
}

// nodeOf returns an object as YAML in which the fields of an object and the items of its lists are a line each.
func nodeOf(object any) (*yaml.Node, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	document := &yaml.Node{}
	if err := yaml.Unmarshal(text, document); err != nil {
		return nil, err
	}
	tidy(document)
	root := document.Content[0]
	root.Style = 0
	for _, field := range root.Content {
		if field.Kind == yaml.SequenceNode {
			field.Style = 0
		}
	}
	return root, nil
}

// fieldOrder is the order in which people write the fields.
var fieldOrder = []string{"apiVersion", "kind", "metadata", "roleRef", "apiGroup", "apiGroups", "resources", "resourceNames"}

// tidy takes the quotes of JSON off, where YAML needs none, and puts fields in order.
func tidy(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode {
		node.Style = 0
	}
	if node.Kind == yaml.MappingNode {
		fields := slices.Collect(slices.Chunk(node.Content, 2))
		rank := func(field []*yaml.Node) int {
			if at := slices.Index(fieldOrder, field[0].Value); at >= 0 {
				return at
			}
			return len(fieldOrder)
		}
		slices.SortStableFunc(fields, func(a, b []*yaml.Node) int { return rank(a) - rank(b) })
		node.Content = slices.Concat(fields...)
	}
	for _, below := range node.Content {
		tidy(below)
	}
}
