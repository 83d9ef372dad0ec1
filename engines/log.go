package engines

import (
	"fmt"
	"strings"
)

// MaxLogBytes bounds the lines of one call.
const MaxLogBytes = 64 << 10

// Log collects the lines that a program writes in one call, for Response.Logs. Its zero
// value is empty.
type Log struct {
	Lines []string

	bytes int
}

// Full reports whether the log is at its limit and ignores further lines.
func (l *Log) Full() bool { return l.bytes > MaxLogBytes }

// Append adds the lines of text. At the limit it cuts the line and adds one that says so.
func (l *Log) Append(text string) {
	if l.Full() {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		left := MaxLogBytes - l.bytes
		if l.bytes += len(line) + 1; l.Full() {
			l.Lines = append(l.Lines, strings.ToValidUTF8(line[:left], ""), fmt.Sprintf("(cut at %d KiB)", MaxLogBytes>>10))
			return
		}
		l.Lines = append(l.Lines, line)
	}
}
