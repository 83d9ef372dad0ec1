package jsonvalue

import (
	"strings"
	"testing"
)

// FuzzMask checks that nothing of a secret is left in a text, however secrets overlap.
func FuzzMask(f *testing.F) {
	f.Add("a token in a text", "token", "oken in")
	f.Add(`Invalid value: "a\nbcd"`, "a\nbcd", "bcd\n")
	f.Add("(hidden)", "hidden", "(hidden)")
	f.Fuzz(func(t *testing.T, text, one, other string) {
		masked := Mask(text, []string{one, other})
		for _, part := range strings.Split(masked, Hidden) {
			for _, secret := range []string{one, other} {
				if len(secret) >= minMaskedBytes && strings.Contains(part, secret) {
					t.Errorf("%q has %q in it", masked, secret)
				}
			}
		}
	})
}
