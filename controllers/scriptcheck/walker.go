package scriptcheck

import (
	"maps"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
)

const (
	// maxWalked bounds how many steps of an outline are taken, again for each call, and parts of values put together, and maxCalls how many
	// calls are within each other.
	maxWalked, maxCalls = 300_000, 40
	// maxDepth bounds how deep steps are nested, and maxChoices what a value may be.
	maxDepth, maxChoices = 2000, 64
)

// walker takes the steps of one outline: it evaluates expressions as far as their values are known, and reports to places what can't be
// right. It takes all branches, and the bodies of loops once.
type walker struct {
	outline *engines.Outline
	kinds   *kinds
	places  places
	// locate returns where a place is for the author, and false for one that is not the author's.
	locate func(engines.Location) (engines.Location, bool)

	left, depth int
	calls       []*engines.OutlineStep
	returned    []value
	exports     *record
	imported    map[string]value
	// variables and fields are the names that the script assigns to, and assigned the fields of objects that it makes: nothing is known of
	// what they have. The first of two walks is silent, and finds the fields. One is enough for a script that never assigns.
	variables, fields map[string]bool
	assigned          map[assignment]bool
	assigns, silent   bool
	watch             func(Member)
}

// assignment is one to a field of an object that is made at a place.
type assignment struct {
	at   engines.Location
	name string
}

func newWalker(o *engines.Outline, k *kinds, p places, locate func(engines.Location) (engines.Location, bool)) *walker {
	w := &walker{
		outline: o, kinds: k, places: p, locate: locate,
		variables: map[string]bool{}, fields: map[string]bool{}, assigned: map[assignment]bool{},
	}
	for _, root := range append(slices.Collect(maps.Values(o.Files)), o.Root) {
		w.collect(root, 0)
	}
	return w
}

// collect notes the variables that the script assigns to.
func (w *walker) collect(s *engines.OutlineStep, depth int) {
	if s == nil || depth > maxDepth {
		return
	}
	if s.Op == engines.OutlineAssign {
		w.assigns = true
	}
	if s.Op == engines.OutlineAssign && s.Text != "" {
		w.variables[s.Text] = true
	}
	for _, part := range s.Parts {
		w.collect(part, depth+1)
	}
}

// walk calls the hook with a request, and returns its answer.
func (w *walker) walk(request value) value {
	w.left, w.exports, w.imported = maxWalked, &record{fields: map[string]field{}}, map[string]value{}
	f, ok := w.hook().(*closure)
	if !ok {
		return nil
	}
	return w.apply(f, request)
}

// assign notes that a field of a value is assigned to.
func (w *walker) assign(of value, name string) {
	for _, one := range alternatives(of) {
		if r, ok := one.(*record); ok && r.at.Line > 0 {
			w.assigned[assignment{r.at, name}] = true
		} else {
			w.fields[name] = true
		}
	}
}

// hook returns the hook's function, or nil if it is not found.
func (w *walker) hook() value {
	root := w.eval(w.outline.Root, &scope{variables: map[string]value{}})
	for _, v := range []value{w.exports, root} {
		for range 3 {
			switch found := v.(type) {
			case *closure:
				return found
			case *record:
				v = found.fields[w.outline.Function].value
				for _, otherwise := range []string{"default", ""} {
					if v == nil {
						v = found.fields[otherwise].value
					}
				}
			}
		}
	}
	return nil
}

// eval returns what is known of the value of a step, and reports what is wrong with it.
func (w *walker) eval(s *engines.OutlineStep, sc *scope) value {
	if w.left--; s == nil || w.left < 0 || w.depth > maxDepth {
		return nil
	}
	w.depth++
	defer func() { w.depth-- }()
	switch s.Op {
	case engines.OutlineNull, engines.OutlineBool, engines.OutlineNumber, engines.OutlineString:
		return &literal{s.Op, s.Text, s.At}
	case engines.OutlineName:
		if w.variables[s.Text] {
			return nil
		}
		return sc.lookup(s.Text)
	case engines.OutlineFunction:
		return &closure{s, sc}
	case engines.OutlineImport:
		return w.importOf(s.Text)
	case engines.OutlineObject:
		return w.object(s, sc)
	case engines.OutlineBlock, engines.OutlineLet:
		inner := &scope{outer: sc, variables: map[string]value{}}
		var last value
		for _, part := range s.Parts {
			last = w.eval(part, inner)
		}
		return last
	case engines.OutlineBind:
		sc.variables[s.Text] = nil // So that a function may call itself.
		sc.variables[s.Text] = w.eval(s.Part(0), sc)
		return nil
	case engines.OutlineAssign:
		if target := s.Part(0); s.Text == "" && (target.Op == engines.OutlineMember || target.Op == engines.OutlineIndex) {
			of, name := w.eval(target.Part(0), sc), target.Text // The field itself is not read.
			if key, ok := w.eval(target.Part(1), sc).(*literal); ok {
				name = key.text
			}
			w.assign(of, name)
			return w.eval(s.Part(1), sc)
		}
	}
	all := make([]value, len(s.Parts))
	for i, part := range s.Parts {
		all[i] = w.eval(part, sc)
	}
	return w.result(s, all)
}

// result returns the value of a step of which the values of all parts are known.
func (w *walker) result(s *engines.OutlineStep, all []value) value {
	part := func(i int) value {
		if i < len(all) {
			return all[i]
		}
		return nil
	}
	switch s.Op {
	case engines.OutlineIs:
		return &typed{shape: &shape{types: typesOf(s.Text)}}
	case engines.OutlineMember, engines.OutlineMethod:
		return w.member(s, part(0))
	case engines.OutlineIndex:
		return w.index(s, part(0), part(1))
	case engines.OutlineElement:
		if s.Text == "key" && typesOfValue(part(0)) == object {
			return &typed{shape: &shape{types: text}}
		}
		return elementOf(part(0))
	case engines.OutlineSame:
		return part(0)
	case engines.OutlineChoice:
		return w.made(either(all...))
	case engines.OutlineCall:
		return w.call(s, all)
	case engines.OutlineList:
		return w.made(listOf(s, all))
	case engines.OutlineMerge:
		return w.madeObject(w.made(sum(part(0), part(1), s.At)))
	case engines.OutlineReturn:
		w.returned = append(w.returned, part(0))
	case engines.OutlineExport:
		w.exports.add(s.Text, field{value: part(0)})
	case engines.OutlineCompare, engines.OutlineStrict, engines.OutlineSum:
		return w.operator(s, part(0), part(1))
	case engines.OutlineUnknown:
		w.giveAway(all)
	case engines.OutlineSpread, engines.OutlineField:
		return part(0)
	}
	return nil
}

// made returns a value that was put together of others. Each of them counts as a step: a worker may have sent whatever takes longest.
func (w *walker) made(v value) value {
	switch v := v.(type) {
	case *record:
		w.left -= len(v.names)
	case *sequence:
		w.left -= len(v.elements)
	case choice:
		w.left -= len(v)
	}
	return v
}

// giveAway calls functions that are handed to what may call them with anything.
func (w *walker) giveAway(all []value) {
	for _, v := range all {
		if f, ok := v.(*closure); ok {
			w.apply(f)
		}
	}
}

// importOf returns the value of a file.
func (w *walker) importOf(name string) value {
	if v, ok := w.imported[name]; ok {
		return v
	}
	w.imported[name] = nil
	w.imported[name] = w.eval(w.outline.Files[name], &scope{variables: map[string]value{}})
	return w.imported[name]
}

// call returns the result of a call of the first of some values with the others.
func (w *walker) call(s *engines.OutlineStep, all []value) value {
	if len(all) == 0 {
		return nil
	}
	var results []value
	for _, one := range alternatives(all[0]) {
		f, ok := one.(*closure)
		if !ok {
			w.giveAway(all)
			return nil
		}
		results = append(results, w.apply(f, argumentsOf(s, f, all)...))
	}
	return either(results...)
}

// argumentsOf returns the arguments of a call in the order of the parameters.
func argumentsOf(s *engines.OutlineStep, f *closure, all []value) []value {
	given := make([]value, max(len(f.step.Parts), len(all)))
	for i, v := range all[1:] {
		at := i
		if argument := s.Part(i + 1); argument.Op == engines.OutlineField {
			at = slices.IndexFunc(f.step.Parts, func(p *engines.OutlineStep) bool { return p != nil && p.Text == argument.Text })
		}
		if at >= 0 {
			given[at] = v
		}
	}
	return given
}

// apply calls a function. Nothing is known of parameters that are not given.
func (w *walker) apply(f *closure, arguments ...value) value {
	if slices.Contains(w.calls, f.step) || len(w.calls) >= maxCalls || len(f.step.Parts) == 0 {
		return nil
	}
	sc := &scope{outer: f.scope, variables: map[string]value{}}
	last := len(f.step.Parts) - 1
	for i := range last {
		sc.variables[f.step.Part(i).Text] = nil
		if i < len(arguments) {
			sc.variables[f.step.Part(i).Text] = arguments[i]
		}
	}
	around := w.returned
	w.calls, w.returned = append(w.calls, f.step), nil
	body := f.step.Part(last)
	result := w.eval(body, sc)
	if body.Op == engines.OutlineBlock {
		result = either(w.returned...)
	}
	w.calls, w.returned = w.calls[:len(w.calls)-1], around
	return result
}

// listOf returns a list of some values.
func listOf(s *engines.OutlineStep, all []value) value {
	var elements []value
	for i, v := range all {
		if s.Part(i).Op == engines.OutlineSpread {
			elements = append(elements, elementsOf(v)...)
		} else {
			elements = append(elements, v)
		}
	}
	return newSequence(elements, s.At)
}

// object returns an object that the script makes, and checks it if it is one of Kubernetes.
func (w *walker) object(s *engines.OutlineStep, sc *scope) value {
	out, spreads := &record{fields: map[string]field{}, at: s.At}, false
	for i := range s.Parts {
		part := s.Part(i)
		switch part.Op {
		case engines.OutlineField, engines.OutlineExtend:
			out.add(part.Text, field{value: w.eval(part.Part(0), sc), at: part.At, extends: part.Op == engines.OutlineExtend})
		case engines.OutlineSpread:
			out, spreads = merge(out, w.eval(part.Part(0), sc), s.At), true
			w.made(out)
		default: // A computed name is mostly none of those that stand beside it.
			if out.isOpen = true; spreads {
				out.obscure()
			}
			w.eval(part, sc)
		}
	}
	for _, name := range out.names {
		if w.assigned[assignment{s.At, name}] {
			out.fields[name] = field{}
		}
	}
	return w.madeObject(out)
}

// madeObject checks an object if its kind is known, and returns it.
func (w *walker) madeObject(v value) value {
	r, ok := v.(*record)
	if !ok {
		return v
	}
	_, hasMetadata := r.fields["metadata"]
	apiVersion, kind := r.string("apiVersion"), r.string("kind")
	if apiVersion != "" && kind != "" && hasMetadata {
		w.answer(r, w.kinds.of(apiVersion, kind), kind, r.at)
	}
	return r
}

// request is the path of what a hook is given, which paths of its parts leave out.
const request = "request"

// below returns the path of a field.
func below(path, name string) string {
	switch {
	case strings.ContainsAny(name, ".-/"):
		return path + `["` + name + `"]`
	case path == "" || path == request:
		return name
	}
	return path + "." + name
}
