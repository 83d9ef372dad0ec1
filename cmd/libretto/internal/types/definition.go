package types

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// kindFinder finds the kind of a resource.
type kindFinder = func(apiVersion, resource string) (schema.GroupVersionKind, bool)

// definition is a definition with the kinds that it names.
type definition struct {
	*document.Object
	// parents, inputs and children are the kinds of its rules. Children are attachments and outputs too.
	parents, inputs, children, related rules
	// prefix is that of the names of its types, which are by role, such as SyncRequest.
	prefix string
	names  map[string]string
}

// rules are the kinds of a list of rules.
type rules struct {
	kinds []schema.GroupVersionKind
	// isOpen reports whether there may be others: a kind is unknown, or the list is not given.
	isOpen bool
}

// definition reads a definition, and notes the built-in kinds that it names.
func (w *writer) definition(object *document.Object, kindOf kindFinder) *definition {
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	read := func(fields ...string) rules { return w.rules(spec, kindOf, fields...) }
	return &definition{
		Object:  object,
		parents: read("parentResource", "resources"), inputs: read("inputResources"),
		children: read("childResources", "attachments", "outputResources"), related: read("relatedResources"),
		names: map[string]string{},
	}
}

// rules returns the kinds of the rules in some fields of a definition.
func (w *writer) rules(spec map[string]any, kindOf kindFinder, fields ...string) rules {
	var found rules
	for _, field := range fields {
		list, _ := spec[field].([]any)
		if one, ok := spec[field].(map[string]any); ok {
			list = []any{one}
		}
		for _, entry := range list {
			rule, _ := entry.(map[string]any)
			apiVersion, _ := rule["apiVersion"].(string)
			resource, _ := rule["resource"].(string)
			kind, known := kindOf(apiVersion, resource)
			switch {
			case !known:
				found.isOpen = true
				w.unknown = appendOnce(w.unknown, resource+" of "+apiVersion)
			default:
				found.kinds = appendOnce(found.kinds, kind)
				w.builtIns = appendOnce(w.builtIns, kind)
			}
		}
	}
	return found
}

func appendOnce[T comparable](list []T, value T) []T {
	if slices.Contains(list, value) {
		return list
	}
	return append(list, value)
}

// nameHooks names the types of definitions: by the role alone if there is one definition, else with the definition's name.
func (w *writer) nameHooks(definitions []*definition) {
	for _, d := range definitions {
		if len(definitions) > 1 {
			d.prefix = pascal(d.GetName())
		}
		roles := []string{childrenRoles[d.GetKind()], "Related"}
		for _, hook := range d.hooks() {
			roles = append(roles, pascal(hook)+"Request", pascal(hook)+"Response")
		}
		for _, role := range roles {
			d.names[role] = w.identifier(d.prefix + role)
		}
	}
}

// childrenRoles are the names of the groups of children, by kind of definition.
var childrenRoles = map[string]string{
	v1alpha1.CompositeControllerKind: "Children", v1alpha1.DecoratorControllerKind: "Attachments", v1alpha1.MapControllerKind: "Outputs",
}

// hooks returns the names of the definition's hooks that are called.
func (d *definition) hooks() []string {
	hooks, _, _ := unstructured.NestedMap(d.Object.Object, "spec", "hooks")
	called := []string{"sync", "map", "tombstone", "finalize", "customize"}
	return slices.DeleteFunc(called, func(hook string) bool { return hooks[hook] == nil })
}

// writeBuiltIn writes the type of a built-in kind.
func (w *writer) writeBuiltIn(kind schema.GroupVersionKind) {
	name := w.names[kind]
	apiVersion, _ := kind.ToAPIVersionAndKind()
	inPackage := kind.Group != v1alpha1.GroupName && kind.Group != "apiregistration.k8s.io"
	if w.options.KubernetesTypes && inPackage {
		group, _, _ := strings.Cut(kind.Group, ".")
		if group == "" {
			group = "core"
		}
		w.printf("\n/** %s of %s, with the fields that the npm package kubernetes-types has. */\n", kind.Kind, apiVersion)
		w.printf("export type %s = libretto.Observed<import(\"kubernetes-types/%s/%s\").%s>;\n", name, group, kind.Version, kind.Kind)
		return
	}
	w.untyped = append(w.untyped, name)
	hint := ""
	if inPackage {
		hint = " `libretto types --kubernetes-types` gives it types."
	}
	w.printf("\n/** %s of %s, with any fields.%s */\n", kind.Kind, apiVersion, hint)
	w.printf("export interface %s extends libretto.KubernetesObject {\n  apiVersion: %q;\n  kind: %q;\n}\n", name, apiVersion, kind.Kind)
}

// writeDefinition writes the types of the hooks of a definition.
func (w *writer) writeDefinition(d *definition) {
	role := childrenRoles[d.GetKind()]
	w.printf("\n/** The %s of %s %s, by group. */\n", strings.ToLower(role), d.GetKind(), d.GetName())
	w.groups(d.names[role], d.children)
	hasRelated := len(d.related.kinds) > 0
	if hasRelated {
		w.printf("\n/** The related objects of %s %s, by group. */\n", d.GetKind(), d.GetName())
		w.groups(d.names["Related"], d.related)
	}
	related := "libretto.ObjectKinds"
	if hasRelated {
		related = d.names["Related"]
	}
	for _, hook := range d.hooks() {
		request, response := w.signature(d, hook, related)
		request, response = "libretto."+request, "libretto."+response
		signature, _, _ := unstructured.NestedString(d.Object.Object, "spec", "hooks", hook, "script", "signature")
		if signature == string(v1alpha1.HTTPContextSignature) {
			request, response = "libretto.HTTPContext<"+request+">", "libretto.HTTPReply<"+response+">"
		}
		w.printf("\n/** The request of hook %s of %s %s. */\n", hook, d.GetKind(), d.GetName())
		w.printf("export type %s = %s;\n", d.names[pascal(hook)+"Request"], request)
		w.printf("\n/** The response of hook %s of %s %s. */\n", hook, d.GetKind(), d.GetName())
		w.printf("export type %s = %s;\n", d.names[pascal(hook)+"Response"], response)
	}
}

// groups writes the interface of groups of objects.
func (w *writer) groups(name string, r rules) {
	w.printf("export interface %s {\n", name)
	for _, kind := range r.kinds {
		w.printf("  %q: %s;\n", variant.GroupKey(kind), w.names[kind])
	}
	if r.isOpen {
		w.printf("  [group: string]: libretto.KubernetesObject;\n")
	}
	w.printf("}\n")
}

// signature returns the types of the request and the response of a hook.
func (w *writer) signature(d *definition, hook, related string) (request, response string) {
	parent, input := w.union(d.parents, ""), w.union(d.inputs, "")
	children := d.names[childrenRoles[d.GetKind()]]
	desired := w.union(d.children, "libretto.Desired")
	parameters := parametersOf(d, hook)
	status := "any"
	if len(d.parents.kinds) == 1 && !d.parents.isOpen && w.withStatus[d.parents.kinds[0]] {
		status = fmt.Sprintf("NonNullable<%s[\"status\"]>", parent)
	}
	switch kind := d.GetKind(); {
	case hook == "customize":
		return fmt.Sprintf("CustomizeRequest<%s, %s>", parent, parameters), "CustomizeResponse"
	case hook == "map":
		return fmt.Sprintf("MapRequest<%s, %s, %s, %s, %s>", parent, input, children, related, parameters),
			fmt.Sprintf("MapResponse<%s>", desired)
	case hook == "tombstone":
		return fmt.Sprintf("TombstoneRequest<%s, %s, %s, %s>", parent, children, related, parameters), "TombstoneResponse"
	case kind == v1alpha1.MapControllerKind:
		return fmt.Sprintf("MapFinalizeRequest<%s, %s, %s, %s>", parent, children, related, parameters), "MapFinalizeResponse"
	case kind == v1alpha1.DecoratorControllerKind:
		return fmt.Sprintf("DecoratorRequest<%s, %s, %s, %s>", parent, children, related, parameters),
			fmt.Sprintf("DecoratorResponse<%s, %s>", status, desired)
	default:
		return fmt.Sprintf("CompositeRequest<%s, %s, %s, %s>", parent, children, related, parameters),
			fmt.Sprintf("CompositeResponse<%s, %s>", status, desired)
	}
}

// union returns the types of some kinds, each in a wrapper if one is given.
func (w *writer) union(r rules, wrapper string) string {
	var types []string
	for _, kind := range r.kinds {
		name := w.names[kind]
		if wrapper != "" {
			name = wrapper + "<" + name + ">"
		}
		types = append(types, name)
	}
	switch {
	case (r.isOpen || len(types) == 0) && wrapper != "":
		return "libretto.DesiredObject"
	case r.isOpen || len(types) == 0:
		return "libretto.KubernetesObject"
	default:
		return strings.Join(types, " | ")
	}
}

// parametersOf returns the type of a hook's parameters, made from their values.
func parametersOf(d *definition, hook string) string {
	values, found, _ := unstructured.NestedFieldNoCopy(d.Object.Object, "spec", "hooks", hook, "script", "parameters")
	if !found {
		return "any"
	}
	return typeOfValue(values)
}

// typeOfValue returns a type that a value of JSON has.
func typeOfValue(value any) string {
	switch value := value.(type) {
	case bool:
		return "boolean"
	case string:
		return "string"
	case int64, float64:
		return "number"
	case map[string]any:
		var fields []string
		for _, key := range slices.Sorted(maps.Keys(value)) {
			fields = append(fields, property(key)+": "+typeOfValue(value[key]))
		}
		return "{ " + strings.Join(fields, "; ") + " }"
	default:
		return "any"
	}
}
