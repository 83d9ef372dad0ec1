package jsonvalue

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
		for name, field := range v {
			all = append(all, SecretTexts(append(path, Step{Pair: Pair{Name: name, A: field}}), field, secret)...)
		}
	case []any:
		for _, item := range v {
			all = append(all, SecretTexts(append(path, Step{Pair: Pair{A: item}, Item: true}), item, secret)...)
		}
	}
	return all
}

// texts returns the strings and numbers in v, and what its strings decode to from base64.
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

// minMaskedBytes is the length of the shortest secret that is masked: shorter ones occur in many words.
const minMaskedBytes = 4

// Mask returns text with Hidden in place of each of the secrets, also where it is quoted.
func Mask(text string, secrets []string) string {
	secrets = slices.Clone(secrets)
	// One may be part of another.
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, secret := range secrets {
		quoted := strconv.Quote(secret)
		for _, form := range []string{secret, quoted[1 : len(quoted)-1], strings.TrimSpace(secret)} {
			if len(form) >= minMaskedBytes && strings.Contains(text, form) {
				text = strings.ReplaceAll(text, form, Hidden)
			}
		}
	}
	return text
}
