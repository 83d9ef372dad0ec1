package engines

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTruncate(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		limit        int
		want         string
	}{
		"short":       {"nothing is cut", "abc", 3, "abc"},
		"long":        {"the start is kept", "abcd", 3, "abc..."},
		"empty":       {"there is nothing to cut", "", 0, ""},
		"no room":     {"not even a byte", "a", -1, "..."},
		"rune":        {"no half of a character is kept", "aäb", 2, "a..."},
		"invalid":     {"what is no text is left out", "a\xffb", 10, "ab"},
		"control":     {"a control character takes six bytes in JSON", "\x01\x02\x03", 12, "\x01\x02..."},
		"quotes":      {"so does what is escaped take two", `""""`, 5, `""...`},
		"all escaped": {"and may fit", `""`, 4, `""`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := Truncate(c.text, c.limit); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// hostileTexts take many more bytes in a log than they have.
var hostileTexts = []string{
	strings.Repeat("a", 100_000), strings.Repeat("\x01", 100_000), strings.Repeat("\"", 100_000), strings.Repeat("\n", 100_000),
	strings.Repeat("\u2028", 100_000), strings.Repeat("\xff", 100_000), strings.Repeat("\U0001F600", 100_000), strings.Repeat("\\", 100_000),
}

// FuzzJSONBytes compares with what the standard library makes of a text.
func FuzzJSONBytes(f *testing.F) {
	for _, text := range append(hostileTexts, "a\x7f<>&", "\x1f\t\r\b") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var encoded strings.Builder
		encoder := json.NewEncoder(&encoded)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(text); err != nil {
			t.Fatal(err)
		}
		if want, got := encoded.Len()-len("\"\"\n"), JSONBytes(text); got < want {
			t.Errorf("%q: %d bytes, want at least %d", text, got, want)
		}
		if short := Truncate(text, 100); JSONBytes(short) > 100+len("...") {
			t.Errorf("%q has %d bytes", short, JSONBytes(short))
		}
	})
}

func TestBounded(t *testing.T) {
	for _, text := range hostileTexts {
		e := &Error{Kind: Exhausted, Location: Location{File: text, Line: 3}, Message: text, Err: errBoom}
		for range 100 {
			e.Stack = append(e.Stack, text)
		}
		b := e.Bounded()
		if n := JSONBytes(b.Error()); n > 1400 {
			t.Errorf("%.3q: the error has %d bytes", text, n)
		}
		if n := JSONBytes(b.Detail()); n > 3500 {
			t.Errorf("%.3q: with its stack the error has %d bytes", text, n)
		}
		if b.Kind != e.Kind || b.Location.Line != 3 || b.Unwrap() != e.Err {
			t.Errorf("%.3q: %#v", text, b)
		}
	}
	many := (&Error{Stack: make([]string, 100_000)}).Bounded()
	if n := JSONBytes(many.Detail()); n > 3500 {
		t.Errorf("with empty lines of its stack the error has %d bytes", n)
	}
}
