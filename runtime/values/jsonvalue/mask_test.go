package jsonvalue

import (
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		secrets      []string
		want         string
	}{
		"none":       {"nothing to hide", "some text", []string{"other", ""}, "some text"},
		"all":        {"wherever it stands", "abcd cabcd", []string{"abcd"}, "(hidden) c(hidden)"},
		"adjoining":  {"nobody learns how many there are", "abcdabcdefgh", []string{"abcd", "efgh"}, "(hidden)"},
		"short":      {"which is part of many words", "v1 is invalid", []string{"1", "inv"}, "v1 is invalid"},
		"part":       {"nothing is left of the longer one", "secret1", []string{"secret", "secret1"}, "(hidden)"},
		"overlap":    {"nothing is left of either", "a token in a text", []string{"token", "oken in"}, "a (hidden) a text"},
		"itself":     {"nor of one that overlaps itself", "abaabaaba", []string{"abaaba"}, "(hidden)"},
		"quoted":     {"line breaks are escaped in most messages", `Invalid value: "a\n\"bc"`, []string{"a\n\"bc"}, `Invalid value: "(hidden)"`},
		"JSON":       {"which escapes other characters", `{"a":"b\u0026c\u0001"}`, []string{"b&c\x01"}, `{"a":"(hidden)"}`},
		"trimmed":    {"a file ends with a line break, and a header does not", "Bearer abcd", []string{"abcd\n"}, "Bearer (hidden)"},
		"line":       {"a stack or a parser shows one line of a file", "at line 2: user: bob", []string{"kind: Logins\nuser: bob\n"}, "at line 2: (hidden)"},
		"lineQuoted": {"of a file that is JSON", `at line 2: "\"pin\": 12"`, []string{"{\n  \"pin\": 12\n}"}, `at line 2: "(hidden)"`},
		"shortLine":  {"which is part of many words", "a line of text", []string{"line\nof\n"}, "a line of text"},
		"mark":       {"what stands for a secret stays", "was (hidden)", []string{"(hid", "den)", "hidden"}, "was (hidden)"},
		"cut":        {"a message was too long for all of the secret", "no number: 12345678...", []string{"1234567890"}, "no number: (hidden)..."},
		"cutBefore":  {"a hint follows what was cut", "answered 500: 12345678...: see its log", []string{"1234567890"}, "answered 500: (hidden)...: see its log"},
		"cutTwice":   {"a part of the ellipsis is left", "12345678.....", []string{"1234567890"}, "(hidden)....."},
		"cutQuoted":  {"within an escape sequence", `"1234567\...`, []string{"1234567\n90"}, `"(hidden)...`},
		"cutShort":   {"so much may be part of a word", "1234567...", []string{"1234567890"}, "1234567..."},
		"end":        {"a text may be cut with no mark", "PIN 12345678", []string{"1234567890"}, "PIN (hidden)"},
		"dots":       {"a secret may end with an ellipsis", "to be continued...", []string{"continued..."}, "to be (hidden)"},
		"middle":     {"the start of a secret that goes on otherwise is a word", "postgres is down", []string{"postgres://a:b"}, "postgres is down"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Mask(c.text, c.secrets); got != c.want {
				t.Errorf("%s: %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

// TestMaskedTextIsBounded masks values that are parts of the mark itself, among them many.
func TestMaskedTextIsBounded(t *testing.T) {
	text := strings.Repeat("(hidden) abcd ", 100)
	var secrets []string
	for from := range Hidden {
		for to := from + 1; to <= len(Hidden); to++ {
			secrets = append(secrets, Hidden[from:to], Hidden[from:to]+"\n", Hidden[from:to]+Hidden)
		}
	}
	if got := Mask(text, append(secrets, "abcd")); len(got) > 2*len(text) {
		t.Errorf("%d bytes become %d", len(text), len(got))
	}
}
