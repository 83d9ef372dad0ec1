package jsonvalue

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Hidden stands for a value that is secret.
const Hidden = "(hidden)"

// Redact returns what is at a path without what is secret, and reports whether anything is.
// Besides what secret reports, that is all of a Secret.
func Redact(path Path, v any, secret func(Path) bool) (visible any, found bool) {
	object, isObject := v.(map[string]any)
	switch {
	case v == nil:
		return nil, false
	case isObject && IsSecret(object), secret(path):
		return Hidden, true
	case isObject:
		out := make(map[string]any, len(object))
		below := append(path, Step{}) // Once, and not for each field.
		for name, field := range object {
			below[len(path)] = Step{Pair: Pair{Name: name, A: field}}
			text, partly := Redact(below, field, secret)
			out[name], found = text, found || partly
		}
		return out, found
	}
	list, isList := v.([]any)
	if !isList {
		return v, false
	}
	out := make([]any, len(list))
	below := append(path, Step{})
	for i, item := range list {
		below[len(path)] = Step{Pair: Pair{A: item}, Item: true}
		text, partly := Redact(below, item, secret)
		out[i], found = text, found || partly
	}
	return out, found
}

// Text writes a value as JSON, of which it cuts off what is longer than a number of bytes.
func Text(v any, most int) (text string, cut bool, err error) {
	data, err := json.Marshal(v)
	if err != nil || len(data) <= most {
		return string(data), false, err
	}
	return strings.ToValidUTF8(string(data[:most]), "") + "...", true, nil
}

// SecretTexts returns the strings and numbers in v, which is at a path, that are secret: those at places
// that secret reports, and those that a Secret holds.
func SecretTexts(path Path, v any, secret func(Path) bool) []string {
	if secret(path) {
		return texts(v)
	}
	var all []string
	switch v := v.(type) {
	case map[string]any:
		if IsSecret(v) {
			return append(texts(v["data"]), texts(v["stringData"])...)
		}
		below := append(path, Step{}) // Once, and not for each field.
		for name, field := range v {
			below[len(path)] = Step{Pair: Pair{Name: name, A: field}}
			all = append(all, SecretTexts(below, field, secret)...)
		}
	case []any:
		below := append(path, Step{})
		for _, item := range v {
			below[len(path)] = Step{Pair: Pair{A: item}, Item: true}
			all = append(all, SecretTexts(below, item, secret)...)
		}
	}
	return all
}

// texts returns the strings and numbers in v, and what they are in base64 of.
func texts(v any) []string {
	var all []string
	switch v := v.(type) {
	case nil, bool:
	case map[string]any:
		for _, field := range v {
			all = append(all, texts(field)...)
		}
	case []any:
		for _, item := range v {
			all = append(all, texts(item)...)
		}
	case string:
		all = append(all, v)
		if plain, err := base64.StdEncoding.DecodeString(v); err == nil && utf8.Valid(plain) {
			all = append(all, string(plain))
		}
	default:
		all = append(all, fmt.Sprint(v))
	}
	return all
}
