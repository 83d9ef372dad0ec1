package printable_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"plain\n\ttext":    "plain\n\ttext",              // line ends and tabs stay
		"gräßlich 日本 🙂":    "gräßlich 日本 🙂",              // so do the letters of all languages
		"\x1b[31mred":      "\ufffd[31mred",              // a colour
		"a\rb\a\x00\x7f":   "a\ufffdb\ufffd\ufffd\ufffd", // a line that takes the place of another
		"\u009b2J":         "\ufffd2J",                   // the control characters above ASCII
		"not UTF-8: \x9b2": "not UTF-8: \ufffd2",         // as single bytes too
		"a\ufffd\x9b":      "a\ufffd\ufffd",
	} {
		if got := printable.Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"if (admin\u202e) {":    "if (admin<U+202E>) {", // what is read in another order
		"a\u2066b\u2069":        "a<U+2066>b<U+2069>",
		"x\u061c\u200e\u200f":   "x<U+061C><U+200E><U+200F>",
		"ad\u200bmin":           "ad<U+200B>min", // names that look the same
		"ad\u200dmin\u200c":     "ad<U+200D>min<U+200C>",
		"\ufeffa\u00ad\u2060":   "<U+FEFF>a<U+00AD><U+2060>",
		"a\u2028b\u2029c":       "a<U+2028>b<U+2029>c", // line ends that are none
		"\u3164 \u034f \u115f":  "<U+3164> <U+034F> <U+115F>",
		"a\U000e0041\U000e007f": "a<U+E0041><U+E007F>", // a text that nobody sees
		"1\ufe0f\U000e0100":     "1<U+FE0F><U+E0100>",
		"🙂\ufe01\ufe0f":         "🙂<U+FE01><U+FE0F>",
		"می\u200cخواهم":         "می\u200cخواهم", // Persian
		"क्\u200dष":             "क्\u200dष",     // Hindi
		"ا\u200c\u200cا":        "ا\u200c<U+200C>ا",
		"👩\u200d💻 ❤\ufe0f":      "👩\u200d💻 ❤\ufe0f", // emoji
		"👁\ufe0f\u200d🗨\ufe0f":  "👁\ufe0f\u200d🗨\ufe0f",
		"👍🏽\u200d💻":             "👍🏽\u200d💻",
		"❤\ufe0f\ufe0f":         "❤\ufe0f<U+FE0F>",
		"\u0600123 a\u0308":     "\u0600123 a\u0308", // what is seen
	} {
		if got := printable.Text(text); got != want {
			t.Errorf("%+q: %q, want %q", text, got, want)
		}
	}
	if got := printable.Line("a\nb\tc\x1b"); got != "a b c\ufffd" {
		t.Errorf("as one line: %q", got)
	}
}

func TestWriter(t *testing.T) {
	var out strings.Builder
	if n, err := fmt.Fprint(printable.Writer(&out), "a\x1b\u009b"); n != 4 || err != nil || out.String() != "a\ufffd\ufffd" {
		t.Errorf("%q, %d bytes: %v", out.String(), n, err)
	}
	reader, writer := io.Pipe()
	errGone := errors.New("gone")
	reader.CloseWithError(errGone)
	if _, err := printable.Writer(writer).Write([]byte("a")); !errors.Is(err, errGone) {
		t.Errorf("an error of the writer: %v", err)
	}
}
