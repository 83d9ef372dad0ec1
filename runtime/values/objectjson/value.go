package objectjson

import (
	"bytes"
	"hash/maphash"
	"strings"
)

// level is what a map is in an object.
type level int

const (
	objectLevel   level = iota // The object itself.
	metadataLevel              // Its metadata.
	entryLevel                 // An entry of metadata.managedFields.
	innerLevel                 // Anything else.
)

// value decodes a value. It returns its hash as well, if parts are shared. Before is what the previous version
// has in its place, or nil. Of is the name of the field whose value it is, or nil.
func (d *Decoder) value(before any, of *name) (any, uint64, bool) {
	switch c := d.next(); c {
	case '{', '[':
		return d.part(c, before, of)
	case '"':
		return d.text(before, of)
	case 't', 'f', 'n':
		return d.word(c)
	default:
		return d.number()
	}
}

// part decodes a map or a list, which begins with c.
func (d *Decoder) part(c byte, before any, of *name) (value any, hash uint64, ok bool) {
	known := of != nil && d.share != nil && d.depth < maxDepth-maxText
	if known && len(of.raw) > 0 && bytes.HasPrefix(d.buf[d.pos:], of.raw) {
		d.pos += len(of.raw)
		return of.part, of.partHash, true
	}
	start := d.pos
	if c == '{' {
		value, hash, ok = d.object(before, innerLevel)
	} else {
		value, hash, ok = d.list(before)
	}
	if known && ok {
		d.share.remember(of, d.buf[start:d.pos], value, hash)
	}
	return value, hash, ok
}

// text decodes a string.
func (d *Decoder) text(before any, of *name) (any, uint64, bool) {
	raw, ok := d.scanString()
	if !ok {
		return nil, 0, false
	}
	if d.share == nil {
		return string(raw), 0, true
	}
	if of != nil && of.shared != nil && of.value == string(raw) {
		return of.shared, of.valueHash, true
	}
	hash := maphash.Bytes(d.share.seed, raw)
	if known, ok := before.(string); ok && known == string(raw) {
		d.held += stringBytes + len(known)
		return before, hash, true
	}
	if len(raw) > maxInterned {
		return d.longText(raw), hash, true
	}
	shared, size := d.share.text(raw, hash)
	d.held += size
	if of != nil {
		of.value, _ = shared.(string)
		of.shared, of.valueHash = shared, hash
	}
	return shared, hash, true
}

// longText returns a long string. If an earlier one of the object contains it, it takes no memory of its own: an
// annotation with what was last applied has all of the object, and texts without escapes as they are.
func (d *Decoder) longText(raw []byte) string {
	if !d.escaped {
		for _, known := range d.longTexts {
			if len(known) > maxContaining*len(raw) {
				continue
			}
			if text, ok := within(known, raw); ok {
				d.held += stringBytes + len(known)
				return text
			}
		}
	}
	d.held += stringBytes + len(raw)
	text := string(raw)
	if len(d.longTexts) < maxLongTexts {
		d.longTexts = append(d.longTexts, text)
	}
	return text
}

// within returns the part of known that is equal to raw. It does not look everywhere: it tries the first places where
// raw might begin.
func within(known string, raw []byte) (string, bool) {
	const start, tries = 32, 8
	for range tries {
		i := strings.Index(known, string(raw[:start]))
		if i < 0 || len(known)-i < len(raw) {
			return "", false
		}
		known = known[i:]
		if known[:len(raw)] == string(raw) {
			return known[:len(raw)], true
		}
		known = known[1:]
	}
	return "", false
}

// list decodes a list.
func (d *Decoder) list(before any) (any, uint64, bool) {
	old, _ := before.([]any)
	start, held := len(d.items), d.held
	var hash uint64
	ok := d.eachItem(func() bool {
		var known any
		if i := len(d.items) - start; i < len(old) {
			known = old[i]
		}
		item, h, ok := d.value(known, nil)
		d.items = append(d.items, item)
		hash = mix(hash, h)
		return ok
	})
	if !ok {
		return nil, 0, false
	}
	value, hash := d.listOf(start, before, hash, d.held-held)
	return value, hash, true
}

// listOf returns a list of the items from start on, which are taken from the stack, and its hash.
func (d *Decoder) listOf(start int, before any, hash uint64, held int) (value any, listHash uint64) {
	items := d.items[start:]
	d.items = d.items[:start]
	hash = mix(hash, ^uint64(len(items)))
	if d.share == nil {
		return newList(items), hash
	}
	return d.share.list(items, before, hash, held), hash
}

// object decodes a map.
func (d *Decoder) object(before any, at level) (any, uint64, bool) {
	if !d.enter() {
		return nil, 0, false
	}
	start, held := len(d.fields), d.held
	var hash uint64
	for more := d.next() != '}'; more; {
		raw, ok := d.fieldName()
		if !ok {
			return nil, 0, false
		}
		name := d.names.name(raw)
		if len(raw) > maxInterned {
			d.held += len(raw)
		}
		value, h, found, ok := d.fieldValue(name, &before, at)
		if !ok {
			return nil, 0, false
		}
		if found {
			d.fields = append(d.fields, field{name.text, name.hash, value})
			hash += mix(name.hash, h)
		}
		switch d.next() {
		case ',':
			d.pos++
		case '}':
			more = false
		default:
			return nil, 0, d.unexpected("after a field of an object")
		}
	}
	d.leave()
	if at == objectLevel && d.itemKind != "" {
		d.completeItem(start)
	}
	fields := d.fields[start:]
	hash = mix(hash, uint64(len(fields)))
	var result any
	if d.share == nil {
		result = newMap(fields)
	} else {
		result = d.share.fields(fields, before, hash, d.held-held, at)
	}
	d.fields = d.fields[:start]
	return result, hash, true
}

// fieldValue decodes the value of a field of a map. It reports whether the field is found: whether the map gets
// it. It sets before of an object when it reaches metadata.
func (d *Decoder) fieldValue(of *name, before *any, at level) (value any, hash uint64, found, ok bool) {
	name := of.text
	switch {
	case at == innerLevel:
	case at == objectLevel && name == "metadata":
		if d.next() != '{' {
			break
		}
		if d.share != nil && d.options.Previous != nil {
			*before = d.previous()
		}
		value, hash, ok = d.object(fieldOf(*before, name), metadataLevel)
		return value, hash, true, ok
	case at == metadataLevel && name == "managedFields":
		return d.managedFields(fieldOf(*before, name))
	case at == entryLevel && (name == "time" || name == "fieldsType"):
		return nil, 0, false, d.skip()
	}
	value, hash, ok = d.value(fieldOf(*before, name), of)
	return value, hash, true, ok
}

// fieldOf returns a field of a map, or nil.
func fieldOf(value any, name string) any {
	if fields, ok := value.(map[string]any); ok {
		return fields[name]
	}
	return nil
}

// managedFields decodes the entries of metadata.managedFields that are kept. It reports whether there are any.
func (d *Decoder) managedFields(before any) (value any, hash uint64, found, ok bool) {
	if d.next() != '[' {
		return nil, 0, false, d.skip()
	}
	old, _ := before.([]any)
	start, held, number := len(d.items), d.held, 0
	ok = d.eachItem(func() bool {
		if d.next() != '{' {
			return d.skip()
		}
		begin := d.pos
		kept, ok := d.scanEntry(number)
		number++
		if !ok || !kept {
			return ok
		}
		d.pos = begin
		var known any
		if i := len(d.items) - start; i < len(old) {
			known = old[i]
		}
		entry, h, ok := d.object(known, entryLevel)
		d.items = append(d.items, entry)
		hash = mix(hash, h)
		return ok
	})
	if !ok || len(d.items) == start {
		return nil, 0, false, ok
	}
	value, hash = d.listOf(start, before, hash, d.held-held)
	return value, hash, true, true
}

// scanEntry skips an entry of managedFields, the one with that number, and reports whether it is kept.
func (d *Decoder) scanEntry(number int) (kept, ok bool) {
	var manager, operation, subresource string
	ok = d.each(func(name []byte) bool {
		var target *string
		switch string(name) {
		case "manager":
			target = &manager
		case "operation":
			target = &operation
		case "subresource":
			target = &subresource
		case "fieldsV1":
			return d.skipKnown(&d.names.skipped[min(number, len(d.names.skipped)-1)])
		}
		if target == nil || d.next() != '"' {
			return d.skip()
		}
		raw, ok := d.scanString()
		if ok {
			*target = d.names.name(raw).text
		}
		return ok
	})
	keep := d.options.KeepManagedFields
	return ok && keep != nil && keep(manager, operation, subresource), ok
}

// skipKnown skips a value. If its text is what is known, nothing of it is looked at; otherwise it becomes known.
func (d *Decoder) skipKnown(known *[]byte) bool {
	if d.next() != '{' || d.depth >= maxDepth-maxSkipped {
		return d.skip()
	}
	if bytes.HasPrefix(d.buf[d.pos:], *known) && len(*known) > 0 {
		d.pos += len(*known)
		return true
	}
	start := d.pos
	if !d.skip() {
		return false
	}
	if raw := d.buf[start:d.pos]; len(raw) <= maxSkipped {
		*known = append((*known)[:0], raw...)
	}
	return true
}

// previous returns the previous version of the object whose metadata are next, or nil.
func (d *Decoder) previous() any {
	begin, depth := d.pos, d.depth
	var name, namespace string
	var hasName, hasNamespace bool
	d.each(func(field []byte) bool {
		isName := string(field) == "name"
		if !isName && string(field) != "namespace" || d.next() != '"' {
			return d.skip()
		}
		raw, ok := d.scanString()
		if isName {
			name, hasName = string(raw), true
		} else {
			namespace, hasNamespace = string(raw), true
		}
		return ok && !(hasName && hasNamespace)
	})
	d.pos, d.depth = begin, depth
	if name == "" || d.err != nil {
		return nil
	}
	if known := d.options.Previous(namespace, name); known != nil {
		return known
	}
	return nil
}

// completeItem sets the kind and apiVersion of an item of a list to those of the list, if it has neither.
func (d *Decoder) completeItem(start int) {
	for _, f := range d.fields[start:] {
		if text, _ := f.value.(string); text != "" && (f.name == "kind" || f.name == "apiVersion") {
			return
		}
	}
	for _, f := range []struct{ name, value string }{{"apiVersion", d.itemVersion}, {"kind", d.itemKind}} {
		name := d.names.name([]byte(f.name))
		var value any = f.value
		if d.share != nil {
			value, _ = d.share.text([]byte(f.value), maphash.String(d.share.seed, f.value))
		}
		d.fields = append(d.fields, field{name.text, name.hash, value})
	}
}
