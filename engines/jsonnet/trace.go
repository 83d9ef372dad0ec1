package jsonnet

import (
	"fmt"
	"strings"
)

// trace keeps the lines that a script writes with std.trace, up to a limit on their bytes.
type trace struct {
	lines []string
	left  int
}

// Write is called by the VM, once for each std.trace, with "TRACE: file:line text".
func (t *trace) Write(text []byte) (int, error) {
	if t.left >= 0 {
		t.add(strings.TrimSuffix(strings.TrimPrefix(string(text), "TRACE: "), "\n"))
	}
	return len(text), nil
}

// add adds a text, and says in a last line when it had to be cut.
func (t *trace) add(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if len(line)+1 > t.left {
			t.lines = append(t.lines, strings.ToValidUTF8(line[:t.left], ""), fmt.Sprintf("(cut at %d KiB)", maxLogBytes>>10))
			t.left = -1
			return
		}
		t.left -= len(line) + 1
		t.lines = append(t.lines, line)
	}
}
