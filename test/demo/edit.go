package main

import (
	"fmt"
	"strings"
)

// edit replaces one piece of a script, which has to be there exactly once and lies within a line.
type edit struct{ old, new string }

var (
	// leaderEdit gives the first Pod a label, so that of all Pods only that one no longer fits.
	leaderEdit = edit{
		old: `labels: { ...metadata.labels }, annotations: { ...metadata.annotations } },`,
		new: `labels: { ...metadata.labels, ...(ordinal === 0 && { role: "leader" }) }, annotations: { ...metadata.annotations } },`,
	}
	// lostParenthesis is a slip of the finger that no longer loads.
	lostParenthesis = edit{old: `const name = podName(set, ordinal);`, new: `const name = podName(set, ordinal;`}
)

func (e edit) apply(script string) (string, error) {
	if n := strings.Count(script, e.old); n != 1 {
		return "", fmt.Errorf("%s: expected to find once, found %d times: %s", scriptName, n, e.old)
	}
	return strings.Replace(script, e.old, e.new, 1), nil
}

// line is the number of the line that is edited.
func (e edit) line(script string) int {
	before, _, _ := strings.Cut(script, e.old)
	return 1 + strings.Count(before, "\n")
}

// diffLine is one line of a difference: removed, added, or neither, then it says where.
type diffLine struct {
	sign byte // '-', '+', or '@'
	text string
}

// diff shows the lines between the first and the last that differ.
func diff(name, before, after string) []diffLine {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	lines := []diffLine{{'@', fmt.Sprintf("%s, line %d", name, start+1)}}
	for _, text := range a[start:endA] {
		lines = append(lines, diffLine{'-', text})
	}
	for _, text := range b[start:endB] {
		lines = append(lines, diffLine{'+', text})
	}
	return lines
}
