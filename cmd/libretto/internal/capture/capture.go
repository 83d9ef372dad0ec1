// Package capture implements libretto capture: it writes what was read of a parent in a cluster as a file of tests, which holds all
// that it takes to run them, and no secret.
package capture

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/render"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// Input is what was read.
type Input struct {
	Cases []Case
	// Definitions are those of the custom resources, or what takes their place.
	CRDs []*unstructured.Unstructured
	// Notes are what could not be read, and what else a reader of the file has to know.
	Notes   []string
	Engines *engines.Registry
	// Now is the time of the first pass.
	Now time.Time
	stage.Host
}

// Case is one definition and what it reads of the parent.
type Case struct {
	Subject *livecluster.Subject
	Reading *livecluster.Reading
	// ConfigMaps are those that scripts are from.
	ConfigMaps []*unstructured.Unstructured
	// Ran is which revision of the scripts that is.
	Ran livecluster.Ran
}

// File is a file of tests.
type File struct {
	Text []byte
	// Problems are why it is not the case that the cluster has, or does not pass.
	Problems []string
}

// writer writes one file.
type writer struct {
	Input
	redaction *redaction
	problems  []string
	skips     map[string]string
}

// Write returns the file. It is run before it is returned: checks that fail are turned off in it, with the reason.
func Write(ctx context.Context, in Input) (*File, error) {
	w := &writer{Input: in, redaction: newRedaction(ctx, in.Cases), skips: map[string]string{}}
	text, err := w.text(ctx)
	if err != nil {
		return nil, err
	}
	failures, err := w.run(ctx, text)
	if err != nil {
		return nil, err
	}
	if w.skip(failures) {
		if text, err = w.text(ctx); err == nil {
			failures, err = w.run(ctx, text)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, f := range failures {
		w.problem("it does not pass: " + f.Message)
	}
	w.problems = append(w.problems, w.redaction.problems()...)
	if len(failures)+len(w.redaction.repeats) > 0 {
		if text, err = w.text(ctx); err != nil {
			return nil, err
		}
	}
	return &File{Text: text, Problems: w.problems}, nil
}

func (w *writer) problem(text string) {
	if text = w.redaction.mask(text); !slices.Contains(w.problems, text) {
		w.problems = append(w.problems, text)
	}
}

// text returns the whole file: the tests, the definitions, their scripts, and the CustomResourceDefinitions.
func (w *writer) text(ctx context.Context) ([]byte, error) {
	var tests [][]byte
	var sources []*unstructured.Unstructured
	for _, c := range w.Cases {
		own := append([]*unstructured.Unstructured{w.definition(c)}, w.scripts(c)...)
		text, err := w.test(ctx, c, own)
		if err != nil {
			return nil, err
		}
		tests = append(tests, text)
		for _, object := range own {
			if !slices.ContainsFunc(sources, func(o *unstructured.Unstructured) bool { return apply.KeyOf(o) == apply.KeyOf(object) }) {
				sources = append(sources, object)
			}
		}
	}
	var b bytes.Buffer
	w.header(&b)
	b.Write(bytes.Join(tests, []byte("---\n")))
	for _, object := range slices.Concat(sources, w.CRDs) {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "---\n%s", text)
	}
	return b.Bytes(), nil
}

// definition returns that of a case. What it leaves to its host it says itself: tests know no host.
func (w *writer) definition(c Case) *unstructured.Unstructured {
	object := w.redaction.source(c.Subject.Definition)
	spec, _ := object.Object["spec"].(map[string]any)
	if spec != nil && spec["applyStrategy"] == nil && w.Strategy != "" {
		spec["applyStrategy"] = string(w.Strategy)
	}
	return object
}

func (w *writer) scripts(c Case) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range c.ConfigMaps {
		all = append(all, w.redaction.source(object))
	}
	return all
}

// header writes what the file is.
func (w *writer) header(b *bytes.Buffer) {
	fmt.Fprintf(b, "# %s as it was in a cluster at %s. Its definition and scripts are below.\n", apply.KeyOf(w.Cases[0].Reading.Parent),
		w.Now.UTC().Format(time.RFC3339))
	for _, c := range w.Cases {
		if c.Ran.Why != "" {
			fmt.Fprintf(b, "# The scripts of %s are those of revision %s: %s.\n", c.Subject.Name(), archive.ShortID(c.Ran.Revision),
				oneLine(w.redaction.mask(c.Ran.Why)))
		}
	}
	b.WriteString("# Left out: managedFields, resourceVersions, and UIDs that nothing refers to.\n")
	for _, line := range slices.Concat(w.redaction.notes(), w.Notes) {
		fmt.Fprintf(b, "# %s\n", oneLine(line))
	}
	for _, line := range w.problems {
		fmt.Fprintf(b, "# Problem: %s\n", oneLine(line))
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// test returns the test of one definition.
func (w *writer) test(ctx context.Context, c Case, sources []*unstructured.Unstructured) ([]byte, error) {
	var files bytes.Buffer
	for _, object := range slices.Concat(sources, w.CRDs) {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&files, "---\n%s", text)
	}
	namespace := c.Reading.Parent.GetNamespace()
	set, err := manifest.LoadValid(ctx, manifest.Options{Filenames: []string{"-"}, Stdin: &files, Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Subject.Name(), err)
	}
	for _, object := range w.redaction.objects(ctx, c) {
		set.Objects = append(set.Objects, &document.Object{Unstructured: object})
	}
	options := render.Options{
		Set: set, Engines: w.Engines, Parent: render.SlashedName(c.Reading.Parent), Now: w.Now, Namespace: namespace,
		Host: w.Host, Ready: func(*unstructured.Unstructured) bool { return false },
		Warn: func(string) {}, // What is not known of the cluster is in the notes.
	}
	renderings, err := render.Render(ctx, options)
	if err != nil && (len(renderings) == 0 || renderings[0].Err() == nil) {
		return nil, fmt.Errorf("%s: %w", c.Subject.Name(), err)
	}
	w.compare(c, renderings[0])
	f := render.TestFile{
		Several: len(w.Cases) > 1, Namespace: namespace, Now: w.Now.UTC().Format(time.RFC3339), Ready: "none", SkipChecks: w.skips,
	}
	if namespace == corev1.NamespaceDefault {
		f.Namespace = ""
	}
	if f.Several {
		f.Ref = c.Subject.Definition.GetKind() + "/" + c.Subject.Definition.GetName()
	}
	return f.Test(renderings)
}

// compare notes if the case fails and the parent does not, or the other way round.
func (w *writer) compare(c Case, r *render.Rendering) {
	switch now, here := c.Reading.Result.Err, r.Err(); {
	case now != nil && here == nil:
		w.problem("in the cluster it fails: " + now.Error())
	case now == nil && here != nil:
		w.problem("it fails with what is in this file, and not in the cluster: " + here.Error())
	}
}

// skip turns off the checks that fail, and reports whether there are any.
func (w *writer) skip(failures []failure) bool {
	for _, f := range failures {
		if f.Check != "" {
			w.skips[f.Check] = "as it was captured: " + oneLine(w.redaction.mask(f.Message))
		}
	}
	return len(w.skips) > 0
}
