package merge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/libretto-k8s/libretto/jsonvalue"
)

// A digest may stand for a value in the annotation, where the value itself is too
// long. It can still be told whether a value is the one that was meant, and what
// lies outside of digests still says which fields to remove.
const (
	digestPrefix = "sha256:"
	digestLength = len(digestPrefix) + 2*sha256.Size
)

// encode writes desired as JSON in no more than limit bytes: as it is, or with
// digests for long strings, or with digests for whole fields of the top level,
// or, if even that is too long, as "".
func encode(desired map[string]any, limit int) (string, error) {
	for _, form := range []func(map[string]any) any{
		func(v map[string]any) any { return v },
		func(v map[string]any) any { return digestStrings(v) },
		func(v map[string]any) any { return digestFields(v) },
	} {
		text, err := json.Marshal(form(desired))
		if err != nil {
			return "", fmt.Errorf("encode as JSON: %w", err)
		}
		if len(text) <= limit {
			return string(text), nil
		}
	}
	return "", nil
}

// digestStrings replaces every string that is longer than its digest.
func digestStrings(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			out[name] = digestStrings(field)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = digestStrings(item)
		}
		return out
	case string:
		if len(v) > digestLength {
			return Digest(v)
		}
	}
	return v
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
	text, isString := v.(string)
	if !isString {
		encoded, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		text = string(encoded)
	}
	sum := sha256.Sum256([]byte(text))
	return digestPrefix + hex.EncodeToString(sum[:])
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
