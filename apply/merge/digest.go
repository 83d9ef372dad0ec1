package merge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// A digest may stand for a value in the annotation, where the value itself is too
// long. It still shows whether a value is the one that was meant, and what
// lies outside of digests still says which fields to remove.
const (
	digestPrefix = "sha256:"
	digestLength = len(digestPrefix) + 2*sha256.Size
)

// encode writes desired as JSON in no more than limit bytes: as it is, or with
// digests for long strings, or with digests for whole fields of the top level,
// or, if even that is too long, as "".
func encode(desired map[string]any, limit int) (string, error) {
	for _, form := range []struct {
		longest int // of the texts that are left as they are
		make    func(map[string]any) any
	}{
		{math.MaxInt, func(v map[string]any) any { return v }},
		{digestLength, func(v map[string]any) any { return digestStrings(v) }},
		{0, func(v map[string]any) any { return digestFields(v) }},
	} {
		if form.longest > 0 && minLength(desired, form.longest, limit) > limit {
			continue // It would be made in vain, and may be very large.
		}
		text, err := objectjson.MarshalString(form.make(desired))
		if err != nil {
			return "", fmt.Errorf("encode as JSON: %w", err)
		}
		if len(text) <= limit {
			return text, nil
		}
	}
	return "", nil
}

// minLength returns how many bytes the JSON of a value has at the least, if texts have no more than longest. If
// they are more than limit, it returns some number above limit.
func minLength(v any, longest, limit int) int {
	switch v := v.(type) {
	case map[string]any:
		n := len("{}")
		for name, field := range v {
			if n > limit {
				break
			}
			n += len(`"":`) + len(name) + minLength(field, longest, limit-n)
		}
		return n
	case []any:
		n := len("[]")
		for _, item := range v {
			if n > limit {
				break
			}
			n += minLength(item, longest, limit-n)
		}
		return n + max(0, len(v)-1)
	case string:
		return len(`""`) + min(len(v), longest)
	case nil, bool:
		return len("null")
	default:
		return 1
	}
}

// digestStrings replaces every string that is longer than its digest.
func digestStrings(v any) any {
	return jsonvalue.MapStrings(v, func(text string) string {
		if len(text) > digestLength {
			return Digest(text)
		}
		return text
	})
}

// digestFields replaces every object and list at the top level.
func digestFields(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for name, field := range object {
		switch field.(type) {
		case map[string]any, []any:
			out[name] = Digest(field)
		default:
			out[name] = digestStrings(field)
		}
	}
	return out
}

// Digest returns the digest of a value, or "" if it can't be written as JSON.
func Digest(v any) string {
	h := sha256.New()
	if text, isString := v.(string); isString {
		h.Write([]byte(text))
	} else if err := writeJSON(h, v); err != nil {
		return ""
	}
	return digestPrefix + hex.EncodeToString(h.Sum(nil))
}

// pieceBytes is about how much memory the values take that writeJSON encodes at once.
const pieceBytes = 64 << 10

// writeJSON writes what json.Marshal would return, and holds only a piece of it at a time.
func writeJSON(w hash.Hash, v any) error {
	if jsonvalue.Size(v, pieceBytes) > pieceBytes {
		switch v := v.(type) {
		case map[string]any:
			return writeObject(w, v)
		case []any:
			return writeList(w, v)
		}
	}
	return objectjson.Write(w, v)
}

func writeObject(w hash.Hash, fields map[string]any) error {
	separator := "{"
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		text, err := objectjson.Marshal(name)
		if err != nil {
			return err
		}
		w.Write([]byte(separator))
		w.Write(append(text, ':'))
		if err := writeJSON(w, fields[name]); err != nil {
			return err
		}
		separator = ","
	}
	w.Write([]byte("}"))
	return nil
}

func writeList(w hash.Hash, items []any) error {
	const most = 256 // items at once
	separator := "["
	for chunk := range slices.Chunk(items, most) {
		w.Write([]byte(separator))
		separator = ","
		if jsonvalue.Size(chunk, pieceBytes) <= pieceBytes {
			text, err := objectjson.Marshal(chunk)
			if err != nil {
				return err
			}
			w.Write(text[1 : len(text)-1])
			continue
		}
		for i, item := range chunk {
			if i > 0 {
				w.Write([]byte(","))
			}
			if err := writeJSON(w, item); err != nil {
				return err
			}
		}
	}
	w.Write([]byte("]"))
	return nil
}

// digestOf reports whether text is the digest of v.
func digestOf(text string, v any) bool {
	return len(text) == digestLength && strings.HasPrefix(text, digestPrefix) && text == Digest(v)
}

// recorded reports whether desired is what last remembers. A digest in last
// stands for the value that it was made from.
func recorded(last, desired any) bool { return jsonvalue.EqualFunc(last, desired, sameOrDigest) }

// sameOrDigest compares two leaves of which the first may be a digest.
func sameOrDigest(last, desired any) bool {
	if text, ok := last.(string); ok {
		return sameText(text, desired)
	}
	return jsonvalue.EqualScalars(last, desired)
}

// sameText compares a text, which may be a digest, with a value.
func sameText(text string, v any) bool {
	s, ok := v.(string)
	return ok && s == text || digestOf(text, v)
}
