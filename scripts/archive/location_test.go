package archive

import (
	"strings"
	"testing"
)

// TestParseID reads IDs as people write them.
func TestParseID(t *testing.T) {
	full := strings.Repeat("0123456789abcdef", 4)
	for text, want := range map[string]string{
		full: full, full[:16]: full[:16],
		strings.ToUpper(full): full, "0123456789ABCdef": full[:16],
		" \t" + full[:16] + "\n":     full[:16],
		"":                           "",
		"yes":                        "",
		full[:15]:                    "",
		full[:17]:                    "",
		full[:63]:                    "",
		full + "0":                   "",
		full[:15] + "g":              "",
		"sha256:" + full:             "",
		full[:8] + " " + full[8:16]:  "",
		full[:16] + "\n" + full[:16]: "",
		"０123456789abcde":            "",
	} {
		if got := ParseID(text); got != want {
			t.Errorf("ParseID(%q) = %q, want %q", text, got, want)
		}
	}
}
