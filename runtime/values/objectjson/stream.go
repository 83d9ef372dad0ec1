package objectjson

import (
	"errors"
	"io"
	"strings"
)

// Event is an event of a watch.
type Event struct {
	Type   string
	Object map[string]any
}

// Event decodes the next event of a watch. At the end of the stream, it returns io.EOF.
func (d *Decoder) Event() (Event, error) {
	d.begin()
	d.depth = -1 // The object begins at 0.
	var e Event
	c := d.next()
	if c == 0 && errors.Is(d.err, io.ErrUnexpectedEOF) {
		return Event{}, io.EOF
	}
	if c != '{' {
		d.unexpected("where an event begins")
		return Event{}, d.err
	}
	ok := d.each(func(name []byte) bool {
		switch string(name) {
		case "type":
			if d.next() != '"' {
				return d.unexpected("where the type of an event begins")
			}
			value, _, ok := d.text(nil, nil)
			e.Type, _ = value.(string)
			return ok
		case "object":
			var ok bool
			e.Object, ok = d.topObject()
			return ok
		default:
			return d.skip()
		}
	})
	switch kind, _ := e.Object["kind"].(string); {
	case !ok:
	case e.Type == "" || e.Object == nil:
		d.fail("the event has no type or no object")
	case kind == "":
		d.fail("the object of the event has no kind")
	default:
		return e, nil
	}
	return Event{}, d.err
}

// List decodes a list, one item after the other, and returns the list without its items, and the items. Items
// that have neither kind nor apiVersion get those that the list's kind says.
func (d *Decoder) List() (list map[string]any, items []map[string]any, err error) {
	d.begin()
	d.depth = -2 // Items begin at 0.
	if d.next() != '{' {
		d.unexpected("where a list begins")
		return nil, nil, d.err
	}
	list, items = map[string]any{}, []map[string]any{}
	isList := false
	ok := d.each(func(raw []byte) bool {
		if string(raw) == "items" && d.next() == '[' {
			isList = true
			d.itemKind, d.itemVersion = itemTypeOf(list)
			return d.eachItem(func() bool {
				if d.source != nil {
					d.compact()
				}
				item, ok := d.topObject()
				items = append(items, item)
				return ok
			})
		}
		name := string(raw)
		value, _, ok := d.value(nil, nil)
		if name != "items" {
			list[name] = value
		} else if value == nil {
			isList = true // A nil slice of Go: some API servers write it for no items.
		}
		return ok
	})
	d.itemKind, d.itemVersion = "", ""
	if !ok {
		return nil, nil, d.err
	}
	if kind, _ := list["kind"].(string); kind == "" || !isList {
		d.fail("the object is no list: it needs kind and items")
		return nil, nil, d.err
	}
	kind, version := itemTypeOf(list)
	for _, item := range items {
		complete(item, kind, version)
	}
	return list, items, nil
}

// itemTypeOf returns the kind and apiVersion of the items of a list.
func itemTypeOf(list map[string]any) (kind, version string) {
	kind, _ = list["kind"].(string)
	version, _ = list["apiVersion"].(string)
	return strings.TrimSuffix(kind, "List"), version
}

// complete sets the kind and apiVersion of an item of a list if it has neither.
func complete(item map[string]any, kind, version string) {
	itemKind, _ := item["kind"].(string)
	itemVersion, _ := item["apiVersion"].(string)
	if itemKind == "" && itemVersion == "" {
		item["kind"], item["apiVersion"] = kind, version
	}
}
