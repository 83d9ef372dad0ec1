package cli

import (
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

// explainFlag returns the error of a flag with what to do: the flag that is like an unknown one, or the command that lists them.
func explainFlag(c *cobra.Command, err error) error {
	if limit := (*limitError)(nil); errors.As(err, &limit) {
		return limit
	}
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
