package test

import (
	"io"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
)

// github writes workflow commands, which become annotations: at the line of the script if that is known, or else in the test file.
type github struct {
	Options
	out io.Writer
	// shown are the errors that were annotated: the same one of several cases is one annotation.
	shown map[string]bool
}

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
		if err := cli.WriteAnnotation(g.out, "error", r.Name, at, g.plain(f)); err != nil {
			return err
		}
	}
	return nil
}

// Close writes nothing: annotations have no end.
func (g *github) Close(Summary) error { return nil }
