package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// noNumber matches what Go says about a value that is no number.
var noNumber = regexp.MustCompile(`: strconv\.Parse(?:Int|Uint|Float): parsing ".*": (?:invalid syntax|value out of range)$`)

// noDuration matches what Go says about a value that is no duration.
var noDuration = regexp.MustCompile(`: time: (?:missing unit in|unknown unit ".*" in|invalid) duration ".*"$`)

// unknownCommand matches what cobra says about a command that there is not, and about an argument of one that takes none.
var unknownCommand = regexp.MustCompile(`^unknown command (".*") for "(.*)"`)

// explainUnknown returns an error with the command that is like an unknown one, or with all that there are. Others it returns as they are.
func explainUnknown(root *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	found := unknownCommand.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	if found[2] != root.Name() {
		return fmt.Errorf("%s takes no arguments, and is given %s", found[2], found[1])
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("%s: %s", found[0], cmp.Or(spelling.Meant(strings.Trim(found[1], `"`), names), "there are "+strings.Join(names, ", ")))
}

// explainFlag returns the error of a flag with what to do: the flag that is like an unknown one, or the command that lists them.
func explainFlag(c *cobra.Command, err error) error {
	text := noNumber.ReplaceAllString(err.Error(), ": must be a number")
	text = noDuration.ReplaceAllString(text, ": must be a duration, such as 30s or 5m")
	if unknown, ok := strings.CutPrefix(text, "unknown flag: --"); ok {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		if meant := spelling.Meant("--"+unknown, names); meant != "" {
			return fmt.Errorf("%s: %s", text, meant)
		}
	}
	if strings.HasPrefix(text, "unknown ") {
		return fmt.Errorf("%s: %s --help lists the flags", text, c.CommandPath())
	}
	return errors.New(text)
}
