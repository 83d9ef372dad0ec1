package printable_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/printable"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"plain\n\ttext":    "plain\n\ttext",              // line ends and tabs stay
		"gräßlich 日本 🙂":    "gräßlich 日本 🙂",              // so do the letters of all languages
		"\x1b[31mred":      "\ufffd[31mred",              // a colour
		"a\rb\a\x00\x7f":   "a\ufffdb\ufffd\ufffd\ufffd", // a line that takes the place of another
		"\u009b2J":         "\ufffd2J",                   // the control characters above ASCII
		"not UTF-8: \x9b2": "not UTF-8: \ufffd2",         // as single bytes too
	} {
		if got := printable.Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
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
