package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// knowledge is what a program says about its flags.
type knowledge map[string]flagHelp

type flagHelp struct{ deprecated bool }

// flagLine is the line of a flag in the output of --help: pflag and etcd write it alike.
var flagLine = regexp.MustCompile(`^\s+(?:-\w, )?--([A-Za-z][\w-]*)\b(.*)$`)

// parseHelp reads the flags from the output of --help. The description is on the line of the flag, or on those below it.
func parseHelp(help string) knowledge {
	known, last := knowledge{}, ""
	for line := range strings.Lines(help) {
		line = strings.TrimRight(line, "\n")
		if m := flagLine.FindStringSubmatch(line); m != nil {
			last, line = m[1], m[2]
			known[last] = flagHelp{}
		} else if !strings.HasPrefix(line, " ") || strings.TrimSpace(line) == "" {
			last = ""
		}
		if last != "" && isDeprecated(line) {
			known[last] = flagHelp{deprecated: true}
		}
	}
	return known
}

// isDeprecated reports whether a description begins by saying so; that of a flag may speak of another one that is deprecated.
func isDeprecated(description string) bool {
	words := strings.Fields(strings.ToUpper(description))
	return slices.ContainsFunc(words[:min(3, len(words))], func(word string) bool {
		return strings.HasPrefix(strings.Trim(word, "(["), "DEPRECATED")
	})
}

// checkFlags asks the programs about every flag that the operator writes, from the creation to the deletion.
func checkFlags(ctx context.Context, out io.Writer, programs map[string]string, t *tree) error {
	fmt.Fprintln(out, "\nFlags: each command line is given to its program, with --help after it")
	c := flagCheck{programs: programs, used: map[string]map[string]bool{}}
	lines := 0
	for _, o := range append(slices.Clone(t.objects), t.undo...) {
		for _, i := range invocationsOf(o) {
			lines++
			c.check(ctx, i)
		}
	}
	for _, program := range slices.Sorted(maps.Keys(c.used)) {
		names := slices.Sorted(maps.Keys(c.used[program]))
		fmt.Fprintf(out, "  %-13s %2d flags: %s\n", program, len(names), strings.Join(names, " "))
	}
	for _, other := range slices.Compact(slices.Sorted(slices.Values(c.others))) {
		fmt.Fprintf(out, "  not checked, as it is no program of Vitess: %s\n", other)
	}
	for _, problem := range c.problems {
		fmt.Fprintf(out, "  WRONG  %s\n", problem)
	}
	if len(c.problems) > 0 {
		return fmt.Errorf("%d of %d command lines are not right", len(c.problems), lines)
	}
	if len(c.used) == 0 {
		return errors.New("no container runs a program of Vitess")
	}
	fmt.Fprintf(out, "  ok  %d command lines: every flag is known, no flag is deprecated, every value can be read\n", lines)
	return nil
}

type flagCheck struct {
	programs map[string]string
	used     map[string]map[string]bool // Flags by program.
	others   []string
	problems []string
}

func (c *flagCheck) check(ctx context.Context, i invocation) {
	program := filepath.Base(i.program)
	path := c.programs[program]
	if path == "" {
		c.others = append(c.others, program)
		return
	}
	if c.used[program] == nil {
		c.used[program] = map[string]bool{}
	}
	for _, name := range flagNames(i.args) {
		c.used[program][name] = true
	}
	if problem := problemOf(ctx, path, i.args); problem != "" {
		c.problems = append(c.problems, fmt.Sprintf("%s, %s: %s: %s", i.owner.id(), i.where, program, problem))
	}
}

// problemOf returns what a program says about arguments, or "" if it understands them. It reads all flags with their values before it
// comes to --help. Names are looked up in its help, too: other spellings, and flags that it hides, are taken in silence.
func problemOf(ctx context.Context, program string, args []string) string {
	output, err := exec.CommandContext(ctx, program, append(slices.Clone(args), "--help")...).CombinedOutput()
	if err != nil {
		return firstError(string(output), err)
	}
	known := parseHelp(string(output))
	for _, name := range flagNames(args) {
		switch help, found := known[name]; {
		case !found:
			return fmt.Sprintf("--%s is not in its help", name)
		case help.deprecated:
			return fmt.Sprintf("--%s is deprecated", name)
		}
	}
	if message, found := lineWith(string(output), "has been deprecated"); found {
		return message
	}
	return ""
}

// firstError returns the line of an output that is about flags, or else the last one.
func firstError(output string, err error) string {
	for _, part := range []string{"unknown", "invalid argument", "not defined", "required"} {
		if line, found := lineWith(output, part); found {
			return line
		}
	}
	return fmt.Sprintf("%v: %s", err, lastLine(output))
}

func lineWith(text, part string) (string, bool) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return strings.TrimSpace(line), true
		}
	}
	return "", false
}
