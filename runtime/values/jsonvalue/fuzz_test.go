package jsonvalue

import (
	"strings"
	"testing"
)

// FuzzMask checks that nothing of a secret is left in a text, however secrets overlap, and that the text
// grows by no more than the marks, also where secrets are parts of these.
func FuzzMask(f *testing.F) {
	f.Add("a token in a text", "token", "oken in")
	f.Add(`Invalid value: "a\nbcd"`, "a\nbcd", "bcd\n")
	f.Add("(hidden)", "hidden", "(hidden)")
	f.Add("(hid den) (hidden)", "(hid", "den)")
	f.Add("a text with 12345678...", "1234567890", "text\nwith 123\n")
	f.Fuzz(func(t *testing.T, text, one, other string) {
		secrets := []string{one, other}
		for from := range len(Hidden) - minMaskedBytes {
			secrets = append(secrets, Hidden[from:from+minMaskedBytes])
		}
		masked := Mask(text, secrets)
		if len(masked) > len(text)/minMaskedBytes*len(Hidden)+len(text) {
			t.Errorf("%d bytes became %d", len(text), len(masked))
		}
		for part := range strings.SplitSeq(masked, Hidden) {
			for _, secret := range secrets {
				if len(secret) >= minMaskedBytes && strings.Contains(part, secret) {
					t.Errorf("%q has %q in it", masked, secret)
				}
			}
		}
	})
}
