package authoring

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// hashLength is how many hexadecimal digits a hash has: it fits into a label, and into a
// name behind another one.
const hashLength = 16

// Hash returns the first 64 bits of the SHA-256 of a JSON value in hexadecimal. Values that
// JSON can't tell apart have the same hash, as have 1 and 1.0. The value holds what
// package unstructured represents JSON by; anything else is an error.
//
// The text that is hashed is what std.manifestJsonMinified gives in Jsonnet: keys in the
// order of their UTF-8, strings as encoding/json writes them without regard to HTML, and
// each number as a float64, with the fewest digits that give it again and no exponent.
func Hash(value any) (string, error) {
	text, err := minified(value)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashLength], nil
}

// minified returns the text that is hashed.
func minified(value any) (string, error) {
	var text bytes.Buffer
	err := write(&text, value)
	return text.String(), err
}

func write(b *bytes.Buffer, value any) error {
	switch value := value.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(value))
	case int64:
		return write(b, float64(value))
	case float64:
		b.WriteString(strconv.FormatFloat(value, 'f', -1, 64))
	case string:
		return writeString(b, value)
	case []any:
		return writeList(b, value)
	case map[string]any:
		return writeObject(b, value)
	default:
		return fmt.Errorf("a %T is no JSON value", value)
	}
	return nil
}

func writeString(b *bytes.Buffer, value string) error {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	b.Truncate(b.Len() - 1) // The encoder ends with a line break.
	return err
}

func writeList(b *bytes.Buffer, list []any) error {
	b.WriteByte('[')
	for i, element := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := write(b, element); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func writeObject(b *bytes.Buffer, object map[string]any) error {
	b.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeString(b, key); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := write(b, object[key]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}
