package test

import (
	"fmt"
	"io"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// github writes workflow commands, which become annotations: at the line of the script if that is known, or else in the test file.
type github struct {
	Options
	out io.Writer
	// shown are the errors that were annotated: the same one of several cases is one annotation.
	shown map[string]bool
}

var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// Report writes an annotation for each failure, but for known ones.
func (g *github) Report(r controllertest.Result) error {
	if r.Outcome == controllertest.Skipped {
		return nil
	}
	if key := sameError(r); key != "" {
		if g.shown[key] {
			return nil
		}
		g.shown[key] = true
	}
	for _, f := range r.Failures {
		at := f.Script
		if at.Line == 0 {
			at = f.Location
		}
		if at.File == "" {
			at = r.Location
		}
		if at.File == "" {
			at.File = r.File
		}
		var properties []string
		properties = append(properties, "file="+escapeProperty.Replace(printable.Text(at.File)))
		if at.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", at.Line))
		}
		if at.Column > 0 {
			properties = append(properties, fmt.Sprintf("col=%d", at.Column))
		}
		properties = append(properties, "title="+escapeProperty.Replace(printable.Text(r.Name)))
		text := escapeData.Replace(printable.Text(g.plain(f)))
		if _, err := fmt.Fprintf(g.out, "::error %s::%s\n", strings.Join(properties, ","), text); err != nil {
			return err
		}
	}
	return nil
}

// Close writes nothing: annotations have no end.
func (g *github) Close(Summary) error { return nil }
