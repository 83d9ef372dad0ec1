// Package scriptcheck checks scripts against the schemas of the objects that they read and answer, before anything runs. It takes the
// outline that an engine makes of a script, evaluates it with values of which only the schema is known, and reports fields that an object
// can't have, values of a wrong type and words that are none of an enumeration. Where anything is in doubt it reports nothing: a place is
// wrong only if it is in all ways in which it is reached, by all hooks of all definitions.
package scriptcheck

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/hooks"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
)

// Finding is something in a script that can't be right.
type Finding struct {
	Location engines.Location
	Message  string
	// IsDoubtful is set if it is right in a cluster that is newer than this program.
	IsDoubtful bool
}

// Checker checks the scripts of some definitions. It is safe for concurrent use.
type Checker struct {
	// Watch is called with the fields that scripts name, unless it is nil.
	Watch func(Member)

	mu     sync.Mutex
	kinds  kinds
	places places
}

// Hook is a hook of a definition.
type Hook struct {
	// Definition is the kind of the definition, and Name that of the hook.
	Definition, Name string
	Signature        engines.Signature
	// Parents, Inputs and Children are the kinds of objects that the definition names.
	Parents, Inputs, Children []schema.GroupVersionKind
	// Placed are those of Children that are in a namespace which an answer must name, as the parents are in none.
	Placed []schema.GroupVersionKind
}

// New returns a checker for objects of built-in kinds and of some CustomResourceDefinitions.
func New(crds ...*apiextensionsv1.CustomResourceDefinition) *Checker {
	c := &Checker{kinds: kinds{shapes: goShapes{}, custom: map[schema.GroupVersionKind]*shape{}}, places: places{}}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
				continue
			}
			s := c.kinds.shapes.custom(version.Schema.OpenAPIV3Schema)
			c.kinds.shapes.addObjectFields(s)
			c.kinds.custom[schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}] = s
		}
	}
	return c
}

// Check checks the script of a hook. locate returns where a place in the script is for its author, and false for one of a library.
func (c *Checker) Check(h Hook, o *engines.Outline, locate func(engines.Location) (engines.Location, bool)) {
	if o == nil || o.Root == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	asked, response := c.kinds.ofHook(h)
	if asked == nil {
		return
	}
	w := newWalker(o, &c.kinds, c.places, locate)
	w.watch = c.Watch
	given := &typed{asked, request}
	if h.Signature == engines.HTTPContext {
		given.path = "context"
	}
	if w.assigns {
		w.silent = true
		w.walk(given)
		w.silent = false
	}
	w.answer(w.walk(given), response, "", engines.Location{})
}

// Findings returns what can't be right in all that was checked, in the order of the places.
func (c *Checker) Findings() []Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Finding
	for at, message := range c.places {
		if message != "" {
			all = append(all, Finding{at, message, strings.HasSuffix(message, newer)})
		}
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Location.File, b.Location.File), cmp.Compare(a.Location.Line, b.Location.Line),
			cmp.Compare(a.Location.Column, b.Location.Column))
	})
	return all
}

// places are what is wrong with places in scripts. One that is right in some way has an empty message.
type places map[engines.Location]string

// kinds are the shapes of objects.
type kinds struct {
	shapes goShapes
	custom map[schema.GroupVersionKind]*shape
}

// of returns the shape of a kind, or nil if nothing is known of it.
func (k *kinds) of(apiVersion, kind string) *shape {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil
	}
	return k.ofKind(gv.WithKind(kind))
}

func (k *kinds) ofKind(kind schema.GroupVersionKind) *shape {
	if s, ok := k.custom[kind]; ok {
		return s
	}
	return k.shapes.builtIn(kind)
}

// group returns the shape of a group of objects, such as Pod.v1.
func (k *kinds) group(name string) *shape {
	kind, apiVersion, _ := strings.Cut(name, ".")
	if s := k.of(apiVersion, kind); s != nil {
		return &shape{types: object, rest: s}
	}
	return anything
}

// groups returns the shape of objects in groups.
func (k *kinds) groups(of []schema.GroupVersionKind) *shape {
	s := &shape{types: object, fields: map[string]*shape{}, isClosed: true}
	for _, kind := range of {
		if kind.Kind == "" {
			s.isOpen = true
			continue
		}
		name := kind.Kind + "." + kind.GroupVersion().String()
		s.fields[name] = k.group(name)
	}
	return s
}

// any returns the shape of objects of one of some kinds.
func (k *kinds) any(of []schema.GroupVersionKind) *shape {
	all := &shape{isOpen: true}
	for _, kind := range of {
		s := k.ofKind(kind)
		if s == nil {
			return anything
		}
		all.oneOf = append(all.oneOf, s)
	}
	if len(all.oneOf) == 1 {
		return all.oneOf[0]
	}
	return all
}

// contract is the Go types of a hook's request and response.
type contract struct{ request, response reflect.Type }

func contractOf[Request, Response any]() contract {
	return contract{reflect.TypeFor[Request](), reflect.TypeFor[Response]()}
}

// contracts are those of hooks, with the kind of definition where that matters.
var contracts = map[string]contract{
	"customize": contractOf[hooks.CustomizeRequest, hooks.CustomizeResponse](),
	"map":       contractOf[hooks.MapRequest, hooks.MapResponse](),
	"tombstone": contractOf[hooks.TombstoneRequest, hooks.TombstoneResponse](),
	v1alpha1.CompositeControllerKind + " sync":     contractOf[hooks.CompositeRequest, hooks.CompositeResponse](),
	v1alpha1.CompositeControllerKind + " finalize": contractOf[hooks.CompositeRequest, hooks.CompositeResponse](),
	v1alpha1.DecoratorControllerKind + " sync":     contractOf[hooks.DecoratorRequest, hooks.DecoratorResponse](),
	v1alpha1.DecoratorControllerKind + " finalize": contractOf[hooks.DecoratorRequest, hooks.DecoratorResponse](),
	v1alpha1.MapControllerKind + " finalize":       contractOf[hooks.MapFinalizeRequest, hooks.MapFinalizeResponse](),
}

// ofHook returns the shapes of a hook's request and response, or nil for one that is not known.
func (k *kinds) ofHook(h Hook) (request, response *shape) {
	c, ok := contracts[h.Name]
	if !ok {
		c, ok = contracts[h.Definition+" "+h.Name]
	}
	if !ok {
		return nil, nil
	}
	fresh := goShapes{}
	request, response = fresh.of(c.request), fresh.of(c.response)
	parents, groups := k.any(h.Parents), k.groups(h.Children)
	set := func(s *shape, name string, to *shape) {
		if _, ok := s.fields[name]; ok {
			s.fields[name] = to
		}
	}
	set(request, "parent", parents)
	set(request, "object", parents)
	set(request, "input", k.any(h.Inputs))
	set(request, "related", &shape{types: object, isOpen: true, isGroups: true})
	for _, name := range []string{"children", "attachments", "outputs"} {
		set(request, name, groups)
		set(response, name, &shape{types: list, among: groups, placed: k.groups(h.Placed)}) // Each object is checked where it is made.
	}
	if status, ok := parents.field("status"); ok {
		set(response, "status", status)
	}
	if h.Signature == engines.HTTPContext {
		response.types |= text
		body := &shape{types: object, isOpen: true, fields: map[string]*shape{"body": request}}
		request = &shape{types: object, isOpen: true, fields: map[string]*shape{"request": body}}
		response = &shape{types: object, isOpen: true, fields: map[string]*shape{"body": response}}
	}
	return request, response
}
