package main

import (
	"fmt"
	"strings"
)

// edit replaces a text in a line of a script. The text must occur exactly once.
type edit struct{ old, new string }

var (
	// leaderEdit adds a label to the first Pod only.
	leaderEdit = edit{
		old: `labels: { ...metadata.labels }, annotations: { ...metadata.annotations } },`,
		new: `labels: { ...metadata.labels, ...(ordinal === 0 && { role: "leader" }) }, annotations: { ...metadata.annotations } },`,
	}
	// missingLetter is valid, and wants no Pods.
	missingLetter = edit{old: `wantedOrdinals(pods, set.spec.replicas)`, new: `wantedOrdinals(pods, set.spec.replica)`}
	// hostNetwork is valid, and Pod Security Admission refuses the first Pod.
	hostNetwork = edit{old: `hostname: name,`, new: `hostname: name, ...(ordinal === 0 && { hostNetwork: true }),`}
	// missingParenthesis makes a script invalid.
	missingParenthesis = edit{old: `const name = podName(set, ordinal);`, new: `const name = podName(set, ordinal;`}
)

func (e edit) apply(script string) (string, error) {
	if n := strings.Count(script, e.old); n != 1 {
		return "", fmt.Errorf("%s: expected to find once, found %d times: %s", scriptName, n, e.old)
	}
	return strings.Replace(script, e.old, e.new, 1), nil
}

// line returns the number of the edited line.
func (e edit) line(script string) int {
	before, _, _ := strings.Cut(script, e.old)
	return 1 + strings.Count(before, "\n")
}

// diffLine is a line of a diff: removed, added, or its position.
type diffLine struct {
	sign byte // '-', '+', or '@'.
	text string
}

// diff returns the lines between the first and the last difference.
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

// diff prints the lines of a diff.
func (d *demo) diff(lines []diffLine) {
	for _, line := range lines {
		switch line.sign {
		case '-':
			d.Out.Removed(line.text)
		case '+':
			d.Out.Added(line.text)
		default:
			d.Out.Info(line.text)
		}
	}
}
