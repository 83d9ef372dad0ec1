package livedefinition

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// History is the revisions of a definition that are archived, or named in its status or spec.
type History struct {
	Definition string     `json:"definition"`
	Revisions  []Revision `json:"revisions"`

	of     *Definition
	stored *archive.History
}

// Revision is one of them.
type Revision struct {
	// Number is higher for revisions that were archived later. It is zero if the revision is not archived.
	Number int64 `json:"revision,omitempty"`
	// ID is the ID in full, or its first digits if no more is known.
	ID string `json:"id"`
	// Created is when it was archived.
	Created *time.Time `json:"created,omitempty"`
	// TestsPassed reports whether it has tests, and they passed.
	TestsPassed bool `json:"testsPassed,omitempty"`
	// States are what the definition says of it: serves, stable, previous, updated, held, failed, approved, pinned.
	States []string `json:"states,omitempty"`
}

// History lists the revisions of a definition, the newest first.
func (c *Client) History(ctx context.Context, d *Definition) (*History, error) {
	settings := v1alpha1.DefinitionSettings{ScriptSources: d.Spec.ScriptSources, ServiceAccountRef: d.Spec.ServiceAccountRef}
	location := livecluster.ArchiveOf(d.Object, &settings, c.HostNamespace)
	h := &History{Definition: d.String(), of: d, stored: &archive.History{Location: location, Client: c.Kubernetes, Metadata: c.Metadata}}
	entries, err := h.stored.List(ctx)
	if err != nil {
		return nil, h.explain(err, "list")
	}
	for _, e := range entries {
		h.Revisions = append(h.Revisions, Revision{Number: e.Number, ID: e.ID, Created: &e.Created, TestsPassed: e.TestsPassed})
	}
	h.addStates()
	return h, nil
}

func (h *History) explain(err error, verb string) error {
	resource := schema.GroupResource{Group: appsv1.GroupName, Resource: "controllerrevisions"}
	return explainResource(err, verb, resource, h.stored.Namespace)
}

// addStates adds what the definition says of each revision, and the revisions that are not archived.
func (h *History) addStates() {
	r := h.of.rollout()
	updated := r.UpdatedRevision
	if r.UpdatedEdit != nil {
		updated = r.UpdatedEdit.Revision
	}
	approved := archive.ParseID(h.of.Object.GetAnnotations()[v1alpha1.ApprovedRevisionAnnotation])
	if r.ApprovedRevision != "" {
		approved = r.ApprovedRevision
	}
	for _, named := range []struct{ state, id string }{
		{servingName(r.UpdatedRevision), h.of.serving()}, {"previous", h.of.Status.PreviousScriptRevisionHash}, {"updated", updated},
		{"held", r.HeldRevision},
		{"failed", r.FailedRevision}, {"approved", approved}, {"pinned", h.of.Spec.ScriptRollout.Revision},
	} {
		if named.id == "" {
			continue
		}
		i := h.index(named.id)
		if i < 0 && r.StableSpec != nil && slices.Contains([]string{"held", "failed", "approved"}, named.state) {
			continue // It may be an edit of the definition, and no revision.
		}
		if i < 0 {
			h.Revisions, i = slices.Insert(h.Revisions, 0, Revision{}), 0
		}
		revision := &h.Revisions[i]
		if len(named.id) > len(revision.ID) {
			revision.ID = named.id
		}
		revision.States = append(revision.States, named.state)
	}
}

func (h *History) index(id string) int {
	return slices.IndexFunc(h.Revisions, func(r Revision) bool { return sameRevision(r.ID, id) })
}

// Find returns the archived revision with a number or an ID.
func (h *History) Find(revision string) (*Revision, error) {
	var i int
	if number, err := strconv.ParseInt(revision, 10, 64); err == nil && number > 0 && archive.ParseID(revision) == "" {
		i = slices.IndexFunc(h.Revisions, func(r Revision) bool { return r.Number == number && r.Created != nil })
	} else {
		id := archive.ParseID(revision)
		if id == "" {
			return nil, fmt.Errorf("%q is no revision: write its number, or its ID with 64 digits or the first 16: see %s",
				revision, h.of.command("history"))
		}
		i = h.index(id)
	}
	if i < 0 || h.Revisions[i].Created == nil {
		return nil, errNotArchived(h.of, revision)
	}
	return &h.Revisions[i], nil
}

// Previous returns what a rollback goes back to: the stable revision while an edit is rolled out, else the one that served before the one
// that serves. If the status does not say which that is, it is the last one that was archived before, and guessed is set.
func (h *History) Previous() (to *Revision, guessed bool, err error) {
	if h.of.rollout().UpdatedRevision != "" {
		to, err = h.Find(h.of.serving())
		return to, false, err
	}
	if previous := h.of.Status.PreviousScriptRevisionHash; previous != "" {
		if to, err = h.Find(previous); err != nil {
			err = fmt.Errorf("%w: it is what served before: name another one with --to-revision", err)
		}
		return to, false, err
	}
	if h.of.serving() == "" {
		return nil, true, fmt.Errorf("%s: no script has served yet: there is nothing to go back to", h.of)
	}
	i := h.index(h.of.serving())
	if i < 0 || h.Revisions[i].Created == nil {
		return nil, true, fmt.Errorf("%s: the revision that serves is not archived: name one with --to-revision: see %s",
			h.of, h.of.command("history"))
	}
	for i++; i < len(h.Revisions); i++ {
		if h.Revisions[i].Created != nil {
			return &h.Revisions[i], true, nil
		}
	}
	return nil, true, fmt.Errorf("%s: %w: see %s", h.of, errNoneBefore, h.of.command("history"))
}

// Files reads the files of the archived revision with a number or an ID.
func (h *History) Files(ctx context.Context, revision string) (*RevisionFiles, error) {
	r, err := h.Find(revision)
	if err != nil {
		return nil, err
	}
	found, err := h.Load(ctx, r)
	return &RevisionFiles{Definition: h.Definition, Revision: *r, Files: found.Files, Hooks: found.Hooks}, err
}

// Load reads an archived revision.
func (h *History) Load(ctx context.Context, r *Revision) (archive.Revision, error) {
	found, err := h.stored.Load(ctx, r.ID)
	switch {
	case errors.Is(err, archive.ErrNone):
		return found, fmt.Errorf("%s: %w", h.of, err)
	case err != nil:
		return found, h.explain(err, "get")
	}
	return found, nil
}

// Write writes the revisions as a table.
func (h *History) Write(out io.Writer, now time.Time) error {
	w := &lines{out: out}
	if len(h.Revisions) == 0 {
		w.linef("%s: no revision is archived", h.Definition)
		return w.err
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "REVISION\tID\tAGE\tTESTS\tSTATE")
	for _, r := range h.Revisions {
		number, age, tests := "-", "-", "-"
		if r.Created != nil {
			number, age = fmt.Sprint(r.Number), duration.HumanDuration(now.Sub(*r.Created))
		}
		if r.TestsPassed {
			tests = "passed"
		}
		states := strings.Join(r.States, ", ")
		if r.Created == nil {
			states += " (not archived)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", number, shortID(r.ID), age, tests, states)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		w.linef("%s", strings.TrimSuffix(line, "\n"))
	}
	return w.err
}

// RevisionFiles is a revision with its files.
type RevisionFiles struct {
	Definition string `json:"definition"`
	Revision
	Files map[string]string `json:"files"`
	// Hooks are what the definition said of its script hooks.
	Hooks json.RawMessage `json:"hooks,omitempty"`
}

// texts returns the files, and the hooks as others: their settings, and each inline script. Their names are none of files.
func (f *RevisionFiles) texts() map[string]string {
	texts := maps.Clone(f.Files)
	if len(f.Hooks) == 0 {
		return texts
	}
	if texts == nil {
		texts = map[string]string{}
	}
	var hooks map[string]map[string]any
	if err := json.Unmarshal(f.Hooks, &hooks); err != nil {
		texts["(hooks)"] = string(f.Hooks)
		return texts
	}
	for name, hook := range hooks {
		if inline, _ := hook["Inline"].(string); inline != "" {
			texts["(inline script of "+name+")"] = inline
			hook["Inline"] = "shown by itself"
		}
	}
	settings, err := json.MarshalIndent(hooks, "", "  ")
	if err != nil {
		settings = f.Hooks
	}
	texts["(hooks)"] = string(settings) + "\n"
	return texts
}

// Write writes which files there are.
func (f *RevisionFiles) Write(out io.Writer, now time.Time) error {
	w := &lines{out: out}
	states := ""
	if len(f.States) > 0 {
		states = ": " + strings.Join(f.States, ", ")
	}
	age := duration.HumanDuration(now.Sub(*f.Created))
	w.linef("%s: revision %d (%s), archived %s ago%s", f.Definition, f.Number, shortID(f.ID), age, states)
	texts := f.texts()
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		text := texts[path]
		plural := "s"
		if len(linesOf(text)) == 1 {
			plural = ""
		}
		w.linef("  %s: %d line%s, %d bytes", path, len(linesOf(text)), plural, len(text))
	}
	return w.err
}
