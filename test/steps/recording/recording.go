// Package recording makes a picture of a terminal: an SVG in which the lines of a demonstration appear one after the other. It needs no
// player, its text can be read in a diff, and it is legible on light and dark pages. Where nothing moves, all lines are there.
package recording

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// Line is a line of a terminal, with the escape sequences of its colours, and when it was printed.
type Line struct {
	At   time.Duration
	Text string
}

// Recorder is a writer that notes when each line is written.
type Recorder struct {
	now     func() time.Time
	begin   time.Time
	partial []byte
	lines   []Line
}

// NewRecorder returns a Recorder with the clock now.
func NewRecorder(now func() time.Time) *Recorder { return &Recorder{now: now, begin: now()} }

// Write notes the lines of the text. It never fails.
func (r *Recorder) Write(text []byte) (int, error) {
	r.partial = append(r.partial, text...)
	for {
		line, rest, whole := bytes.Cut(r.partial, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		r.lines = append(r.lines, Line{At: r.now().Sub(r.begin), Text: string(line)})
		r.partial = rest
	}
}

// Sections returns the lines of the sections with these titles. A section begins with a line in bold, which ends with its title.
// Lines that only say that something lasts are left out, and empty ones at the end.
func (r *Recorder) Sections(titles ...string) []Line {
	var lines []Line
	wanted := false
	for _, line := range r.lines {
		if heading, bold := strings.CutPrefix(line.Text, bold); bold {
			heading = strings.TrimSuffix(heading, reset)
			wanted = slices.ContainsFunc(titles, func(title string) bool { return strings.HasSuffix(heading, title) })
		}
		if wanted && !strings.HasPrefix(line.Text, "  ... ") {
			lines = append(lines, line)
		}
	}
	for len(lines) > 0 && lines[len(lines)-1].Text == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Pauses of a picture. What is printed in a moment is shown in a moment, but a reader needs time before a command, and need not
// wait for as long as a slow machine does.
const (
	longestPause = 2 * time.Second
	readingPause = time.Second
)

// Pace returns the lines with times that begin at 0 and suit a reader.
func Pace(lines []Line) []Line {
	paced := slices.Clone(lines)
	at := time.Duration(0)
	for i, line := range lines {
		if i > 0 {
			pause := min(line.At-lines[i-1].At, longestPause)
			if isCommand(line.Text) || strings.HasPrefix(line.Text, bold) {
				pause = max(pause, readingPause)
			}
			at += pause
		}
		paced[i].At = at
	}
	return paced
}

func isCommand(text string) bool { return strings.HasPrefix(text, "  "+cyan+"$ ") }
