// Package heap takes the state of a goja runtime and restores it, so that modules run once and each call still begins with what they left.
//
// goja can't copy a runtime: its native functions hold a pointer to theirs. So all memory that a runtime reaches is remembered, and after
// a call what differs is written back. What is reached is found by reflection over goja's types, whatever they are: objects, the
// variables of closures, prototypes, internal slots, private fields. Nothing is known of what goja's functions mean, and nothing needs to
// be, but for one thing: what a Go closure has captured can't be seen. So there is a state only if each Go function in the runtime is one
// that captures nothing that changes.
package heap

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// Snapshot is the state of a runtime. It may be used by one goroutine at a time, while the runtime runs nothing.
type Snapshot struct {
	// areas are ordered by address, and image has what is in them, one after the other. To compare is nearly all of the work, and
	// memory is fastest read in its order.
	areas []area
	image []byte
	// properties are those of objects and the names of variables. They are nearly all of the maps.
	properties []properties
	others     []otherMap
}

// area is the memory of a variable of Go.
type area struct {
	at   unsafe.Pointer
	size uintptr
	// saved is a pointer to a copy, which keeps alive what was there, and through which it is written back.
	saved reflect.Value
}

func (a *area) end() uintptr { return uintptr(a.at) + a.size }

type properties struct {
	live  map[unistring.String]goja.Value
	saved []property
}

type property struct {
	name  unistring.String
	value goja.Value
}

// otherMap is a map of other types: a hash table, the registry of symbols, private fields.
type otherMap struct {
	live, saved reflect.Value
}

// maxBytes bounds the areas. To compare that much takes a millisecond or two, and each is there three times.
const maxBytes = 16 << 20

// Take returns the state of a runtime that runs nothing. Values of it that the caller holds, and that the runtime may not reach, belong to
// the state. It is an error if a part of the state can't be seen.
func Take(rt *goja.Runtime, held []goja.Value) (*Snapshot, error) {
	w := &walker{seen: map[reached]bool{}}
	w.follow(reflect.ValueOf(rt))
	w.follow(reflect.ValueOf(held))
	for len(w.todo) > 0 && w.err == nil {
		next := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		w.follow(next)
	}
	if w.err != nil {
		return nil, w.err
	}
	w.arrange()
	return &w.Snapshot, nil
}

// Restore writes back what has changed.
func (s *Snapshot) Restore() {
	image := s.image
	for n := range s.areas {
		a := &s.areas[n]
		if !bytes.Equal(a.bytes(), image[:a.size]) {
			reflect.NewAt(a.saved.Type().Elem(), a.at).Elem().Set(a.saved.Elem())
		}
		image = image[a.size:]
	}
	for n := range s.properties {
		s.properties[n].restore()
	}
	for _, m := range s.others {
		m.restore()
	}
}

func (a *area) bytes() []byte { return unsafe.Slice((*byte)(a.at), a.size) }

func (p *properties) restore() {
	if p.areSame() {
		return
	}
	clear(p.live)
	for _, saved := range p.saved {
		p.live[saved.name] = saved.value
	}
}

func (p *properties) areSame() bool {
	if len(p.live) != len(p.saved) {
		return false
	}
	for n := range p.saved {
		if value, ok := p.live[p.saved[n].name]; !ok || words(&value) != words(&p.saved[n].value) {
			return false
		}
	}
	return true
}

// words returns what an interface is made of. Some of goja's values are of types that can't be compared.
func words(v *goja.Value) [2]uintptr { return *(*[2]uintptr)(unsafe.Pointer(v)) }

func (m otherMap) restore() {
	if m.isSame() {
		return
	}
	m.live.Clear()
	for all := m.saved.MapRange(); all.Next(); {
		m.live.SetMapIndex(all.Key(), all.Value())
	}
}

func (m otherMap) isSame() bool {
	elem := m.live.Type().Elem()
	if m.live.Len() != m.saved.Len() || elem.Kind() == reflect.Interface || !elem.Comparable() {
		return m.live.Len() == 0 && m.saved.Len() == 0
	}
	for all := m.saved.MapRange(); all.Next(); {
		if value := m.live.MapIndex(all.Key()); !value.IsValid() || !value.Equal(all.Value()) {
			return false
		}
	}
	return true
}

// walker finds what a runtime reaches.
type walker struct {
	Snapshot
	seen map[reached]bool
	todo []reflect.Value
	size uintptr
	err  error
}

// reached is a variable. The first field of a struct is at the address of that.
type reached struct {
	at  unsafe.Pointer
	typ reflect.Type
}

const gojaPath = "github.com/dop251/goja"

// unchanging are goja's types of which nothing changes once it is made, or nothing that a script could see, and what runtimes share.
var unchanging = []string{"Program", "regexpPattern", "objectTemplate", "privateEnvType", "Symbol", "profTracker", "isolate"}

// letBe are the packages of hashes, orders of texts and types, of which a script sees nothing that changes.
var letBe = []string{"hash/maphash", "golang.org/x/text/collate", "reflect"}

// pointer follows a pointer to what calls may change: a type of goja, or a view that a function of the host has returned. The host restores
// its isolate itself.
func (w *walker) pointer(v reflect.Value) {
	switch t := v.Type().Elem(); t.PkgPath() {
	case "", gojaPath, ownPath:
		if !slices.Contains(unchanging, t.Name()) {
			w.add(v.UnsafePointer(), t)
		}
	default:
		if !slices.Contains(letBe, t.PkgPath()) {
			w.failf("there is a %s", t)
		}
	}
}

func (w *walker) add(at unsafe.Pointer, typ reflect.Type) {
	if w.isNew(at, typ) {
		w.save(at, typ)
		w.todo = append(w.todo, reflect.NewAt(typ, at).Elem())
	}
}

func (w *walker) save(at unsafe.Pointer, typ reflect.Type) {
	if typ.Size() == 0 {
		return
	}
	if w.size += typ.Size(); w.size > maxBytes {
		w.failf("there are more than %d MiB", maxBytes>>20)
		return
	}
	saved := reflect.New(typ)
	saved.Elem().Set(reflect.NewAt(typ, at).Elem())
	w.areas = append(w.areas, area{at: at, size: typ.Size(), saved: saved})
}

func (w *walker) isNew(at unsafe.Pointer, typ reflect.Type) bool {
	r := reached{at, typ}
	isNew := !w.seen[r]
	w.seen[r] = true
	return isNew
}

// follow goes to all that a value leads to.
func (w *walker) follow(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.pointer(v)
		}
	case reflect.Interface:
		if !v.IsNil() {
			w.follow(v.Elem())
		}
	case reflect.Struct:
		if v.Type().Name() == "weakMap" {
			w.failf("there is a WeakMap") // The garbage collector changes it at any time.
			return
		}
		for _, field := range v.Fields() {
			w.follow(field)
		}
	case reflect.Array:
		for n := range v.Len() {
			w.follow(v.Index(n))
		}
	case reflect.Slice:
		w.slice(v)
	case reflect.Map:
		w.mapping(v)
	case reflect.Func:
		w.function(v)
	case reflect.Chan, reflect.UnsafePointer:
		w.failf("there is a %s", v.Type())
	default: // Numbers, texts and the like are in the area of what has them.
	}
}

func (w *walker) failf(format string, args ...any) {
	w.err = errors.Join(w.err, fmt.Errorf(format, args...))
}

// slice saves the memory behind the last element, too: what is left there is seen again when goja makes the slice longer in its place.
func (w *walker) slice(v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint16 {
		return // Texts beyond Latin are slices that nothing changes.
	}
	at, all, used := v.UnsafePointer(), reflect.ArrayOf(v.Cap(), v.Type().Elem()), reflect.ArrayOf(v.Len(), v.Type().Elem())
	isNew := w.isNew(at, all)
	if isNew {
		w.save(at, all)
	}
	if w.isNew(at, used) || isNew {
		w.todo = append(w.todo, reflect.NewAt(used, at).Elem())
	}
}

func (w *walker) mapping(v reflect.Value) {
	isSource := v.Type() == reflect.TypeFor[map[string]any]() // Of views, which only read it.
	if v.IsNil() || isSource || !w.isNew(v.UnsafePointer(), v.Type()) {
		return
	}
	if v.Type() == reflect.TypeFor[map[unistring.String]goja.Value]() {
		at := v.UnsafePointer()
		p := properties{live: *(*map[unistring.String]goja.Value)(unsafe.Pointer(&at))}
		for name, value := range p.live {
			p.saved = append(p.saved, property{name, value})
			w.todo = append(w.todo, reflect.ValueOf(value))
		}
		w.properties = append(w.properties, p)
		return
	}
	w.addMap(v)
}

func (w *walker) addMap(v reflect.Value) {
	at := v.UnsafePointer()
	m := otherMap{live: reflect.NewAt(v.Type(), unsafe.Pointer(&at)).Elem(), saved: reflect.MakeMap(v.Type())}
	for all := m.live.MapRange(); all.Next(); {
		m.saved.SetMapIndex(all.Key(), all.Value())
		w.todo = append(w.todo, all.Key(), all.Value())
	}
	w.others = append(w.others, m)
}

// known matches the names of functions that have captured nothing but their runtime, which a method as a value has, or what no script
// replaces: the object and the prototype of a built-in constructor. Whatever goja makes for a script, as bind does, is another one.
var known = regexp.MustCompile(`^github\.com/dop251/goja\.\(\*Runtime\)\.` +
	`(\w+-fm|.*(wrapNativeConstruct|constructToCall|newNativeConstructOnly|createSymbol|createSymbolProto|` +
	`getFunctionPrototype|getObject)\.func\d+)$`)

// ownPath starts the names of functions that the host gives a runtime. What they have captured is the host's to restore.
const ownPath = "github.com/libretto-k8s/libretto/engines/javascript"

func (w *walker) function(v reflect.Value) {
	if v.IsNil() {
		return
	}
	name := runtime.FuncForPC(v.Pointer()).Name()
	if !known.MatchString(name) && !strings.HasPrefix(name, ownPath) {
		w.failf("there is a function %s", name)
	}
}

// arrange orders the areas and leaves out those that are parts of others.
func (w *walker) arrange() {
	slices.SortFunc(w.areas, func(a, b area) int {
		return cmp.Or(cmp.Compare(uintptr(a.at), uintptr(b.at)), cmp.Compare(b.size, a.size))
	})
	end := uintptr(0)
	w.areas = slices.DeleteFunc(w.areas, func(a area) bool {
		isPart := a.end() <= end
		end = max(end, a.end())
		return isPart
	})
	for n := range w.areas {
		w.image = append(w.image, w.areas[n].bytes()...)
	}
}
