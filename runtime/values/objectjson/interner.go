package objectjson

import (
	"hash/maphash"
	"math/bits"
	"reflect"
)

// The bounds of an interner. What it forgets costs only memory: that equal parts are not shared.
const (
	// maxInterned is the longest string that is shared with other objects, in bytes.
	maxInterned = 128
	// maxLongTexts is how many long strings of an object later ones are looked for in, and maxContaining how many times as long
	// as a string they may be: a string that points into another one keeps all of that in memory, also when it has become part of
	// another version of the object.
	maxLongTexts, maxContaining = 4, 4
	// maxNames bounds the names of fields, all of which are forgotten at once.
	maxNames = 1 << 12
	// maxText is the longest text of a map or list that is remembered, and maxTexts bounds all of them, in bytes.
	maxText, maxTexts = 1 << 10, 128 << 10
	// maxSkipped is the longest text of managedFields that is remembered.
	maxSkipped = 8 << 10
	// maxSets bounds each table, of two values in a set.
	maxSets = 1 << 13
	// maxPartBytes and maxPartsBytes bound the maps and lists that are kept for sharing: one, and all of them.
	maxPartBytes, maxPartsBytes = 16 << 10, 4 << 20
)

// Interner shares equal parts of objects, so that similar objects take little more memory than their differences.
// Most of a decoded object is maps of a few fields, of several hundred bytes each, and replicas of one template
// have nearly all of them in common.
//
// It knows parts that it has seen of late. They take at most about 10 MiB. It must be used by one goroutine at a time.
type Interner struct {
	seed    maphash.Seed
	names   map[string]*name
	last    *name // The name that was read last.
	texts   int   // Bytes of the texts of all names.
	strings table
	parts   table // Maps and lists.
	// skipped are texts of managedFields: of the first entries of an object, and of some later one.
	skipped [4][]byte
}

// name is the name of a field. Most objects of a kind have the same fields in the same order, often with the same
// values: to compare with what came last time is cheaper than to look it up.
type name struct {
	text  string
	hash  uint64
	next  *name  // The name that was read after it the last time.
	value string // The last short string that was its value, as an interface value in shared.
	// shared is nil if the name has had no such value.
	shared    any
	valueHash uint64

	// The text of the last map or list that was its value, and what it was decoded to. Where the same text comes
	// again, it is not decoded again.
	raw      []byte
	part     any
	partHash uint64
}

// NewInterner returns an empty Interner.
func NewInterner() *Interner {
	return &Interner{seed: maphash.MakeSeed(), names: map[string]*name{}, last: &name{}}
}

// name returns the name of a field.
func (in *Interner) name(raw []byte) *name {
	if next := in.last.next; next != nil && next.text == string(raw) {
		in.last = next
		return next
	}
	found, ok := in.names[string(raw)]
	if !ok {
		found = &name{text: string(raw), hash: maphash.Bytes(in.seed, raw)}
		if len(raw) > maxInterned {
			return found
		}
		if len(in.names) >= maxNames {
			in.names, in.last, in.texts = map[string]*name{}, &name{}, 0
		}
		in.names[found.text] = found
	}
	in.last.next, in.last = found, found
	return found
}

// text returns the shared instance of a string, as an interface value, and how many bytes it takes if it is new.
func (in *Interner) text(raw []byte, hash uint64) (value any, size int) {
	if s := in.strings.set(hash); s != nil {
		for i := range s {
			if known, ok := s[i].value.(string); ok && s[i].hash == hash && known == string(raw) {
				return s.use(i), 0
			}
		}
	}
	value = string(raw)
	in.strings.add(hash, value, 0)
	return value, stringBytes + len(raw)
}

// remember keeps the text of a map or list that is the value of a field.
func (in *Interner) remember(of *name, raw []byte, part any, hash uint64) {
	if len(of.text) > maxInterned || len(raw) > maxText || in.texts+len(raw) > maxTexts+cap(of.raw) {
		return
	}
	in.texts -= cap(of.raw)
	of.raw = append(of.raw[:0], raw...)
	in.texts += cap(of.raw)
	of.part, of.partHash = part, hash
}

// list returns a list of these items, whose parts are shared already. Held is how many bytes of strings it keeps in memory.
func (in *Interner) list(items []any, before any, hash uint64, held int) any {
	if sameItems(before, items) {
		return before
	}
	if s := in.parts.set(hash); s != nil {
		for i := range s {
			if s[i].hash == hash && sameItems(s[i].value, items) {
				return s.use(i)
			}
		}
	}
	var value any = newList(items)
	in.keep(hash, value, 24+16*len(items)+held)
	return value
}

// fields returns a map of these fields, whose values are shared already. The maps of the object itself and of its
// metadata are shared only with its previous version, because no other object has equal ones.
func (in *Interner) fields(fields []field, before any, hash uint64, held int, at level) any {
	if !distinct(fields) {
		return newMap(fields)
	}
	if sameFields(before, fields) {
		return before
	}
	inner := at == innerLevel || at == entryLevel
	if s := in.parts.set(hash); s != nil && inner {
		for i := range s {
			if s[i].hash == hash && sameFields(s[i].value, fields) {
				return s.use(i)
			}
		}
	}
	var value any = newMap(fields)
	if inner {
		in.keep(hash, value, mapBytes(len(fields))+held)
	}
	return value
}

func (in *Interner) keep(hash uint64, value any, size int) {
	if size <= maxPartBytes {
		in.parts.add(hash, value, size)
	}
}

// stringBytes is what a string takes besides its text.
const stringBytes = 16

// mapBytes returns about how many bytes a map of n fields takes.
func mapBytes(n int) int {
	if n <= 8 {
		return 48 + 288
	}
	return 48 + 40<<bits.Len(uint((n*8+6)/7-1))
}

func newList(items []any) []any {
	list := make([]any, len(items))
	copy(list, items)
	return list
}

// newMap returns a map of fields. Of fields with the same name it has the last.
func newMap(fields []field) map[string]any {
	m := make(map[string]any, len(fields))
	for _, f := range fields {
		m[f.name] = f.value
	}
	return m
}

// distinct reports whether all fields have different names. It may say false if they have.
func distinct(fields []field) bool {
	if len(fields) > 24 {
		seen := make(map[uint64]struct{}, len(fields))
		for _, f := range fields {
			seen[f.hash] = struct{}{}
		}
		return len(seen) == len(fields)
	}
	for i := range fields {
		for j := range i {
			if fields[i].hash == fields[j].hash {
				return false
			}
		}
	}
	return true
}

// sameFields reports whether a value is a map of these fields, which have different names and shared values.
func sameFields(value any, fields []field) bool {
	known, ok := value.(map[string]any)
	if !ok || len(known) != len(fields) {
		return false
	}
	for i := range fields {
		if other, ok := known[fields[i].name]; !ok || !identical(other, fields[i].value) {
			return false
		}
	}
	return true
}

// sameItems reports whether a value is a list of these items, which are shared.
func sameItems(value any, items []any) bool {
	known, ok := value.([]any)
	if !ok || len(known) != len(items) {
		return false
	}
	for i := range items {
		if !identical(known[i], items[i]) {
			return false
		}
	}
	return true
}

// identical reports whether two values are the same map or list, or equal scalars.
func identical(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return high ^ low
}

// table maps hashes to values that were used of late. A value has one place, in one of two slots. A new one
// replaces the value of the two that was used longer ago.
type table struct {
	sets   []set // A power of two of them.
	values int
	bytes  int // Of all values.
	hand   int // The set that is emptied next to free bytes.
}

type set [2]slot

type slot struct {
	hash  uint64
	value any // Nil if the slot is empty.
	size  int
}

// set returns the set of a hash, or nil if there is none yet.
func (t *table) set(hash uint64) *set {
	if len(t.sets) == 0 {
		return nil
	}
	return &t.sets[hash&uint64(len(t.sets)-1)]
}

// use returns the value of a slot, which becomes the one that was used last.
func (s *set) use(i int) any {
	if i == 1 {
		s[0], s[1] = s[1], s[0]
	}
	return s[0].value
}

// add adds a value of so many bytes.
func (t *table) add(hash uint64, value any, size int) {
	if t.values >= len(t.sets) && len(t.sets) < maxSets {
		t.grow()
	}
	s := &t.sets[hash&uint64(len(t.sets)-1)]
	t.drop(&s[1])
	s[0], s[1] = slot{hash, value, size}, s[0]
	t.values++
	t.bytes += size
	for t.bytes > maxPartsBytes {
		s := &t.sets[t.hand&(len(t.sets)-1)]
		t.hand++
		t.drop(&s[0])
		t.drop(&s[1])
	}
}

func (t *table) drop(s *slot) {
	if s.value != nil {
		t.values--
		t.bytes -= s.size
		*s = slot{}
	}
}

func (t *table) grow() {
	old := t.sets
	*t = table{sets: make([]set, min(max(64, 4*len(old)), maxSets))}
	for i := range old {
		for _, s := range []slot{old[i][1], old[i][0]} {
			if s.value != nil {
				t.add(s.hash, s.value, s.size)
			}
		}
	}
}
