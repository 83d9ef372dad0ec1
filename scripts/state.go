package scripts

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/engines"
)

const (
	maxProblems    = 5    // reported of one tree
	maxProblemText = 1000 // bytes of one problem
	maxListed      = 10   // names in an error
)

// State is the state of loading a tree. It holds no time that changes and its order is fixed, so that
// equal situations have equal conditions.
type State struct {
	// Loaded is the ID of the revision that serves, or empty.
	Loaded RevisionID
	// Desired is the ID of what the sources hold. It is empty while they hold no
	// complete tree, or have not been read.
	Desired RevisionID
	// Problems are why Desired does not serve: at most five, sorted. No problems
	// and nothing loaded means that the sources have not been read yet.
	Problems []Problem
	// More is how many problems were left out.
	More int
	// RestoredFrom names the ControllerRevision that Loaded was restored from when this
	// process started, as namespace/name. It is empty for revisions of the sources.
	RestoredFrom string
	// NotRestored is why no archived revision serves in place of Desired, or empty.
	NotRestored string
	// Warnings are problems of Loaded, which serves nevertheless: a line each, at most
	// five, sorted, or empty.
	Warnings string
	// LoadingSince is since when Desired is being loaded, if that takes so long that the host must be short of processor time, or zero.
	// Testing is the ID of the revision whose tests run, or empty. What else is known is about what was there before.
	LoadingSince time.Time
	Testing      RevisionID
	// Tested is the result of the tests of Loaded, or empty if they were not run.
	Tested string
	// Held is why Desired, which loads, does not take over, or empty.
	Held string
	// RepeatAfter is that of the Preview by which Desired is held.
	RepeatAfter time.Duration
	// Previewing is the ID of the revision that takes over once its preview could be made and lets it, or empty.
	Previewing RevisionID
	// Approved is what an approval named by which Loaded took over, or empty.
	Approved RevisionID
	// Previewed is the summary of the preview of Loaded, or empty if there was none.
	Previewed string
	// NoBaselineReason is why Loaded took over though there was nothing to compare it with in its preview, or empty.
	NoBaselineReason string
	// NotArchived is why Loaded would not outlive this process, or empty.
	NotArchived string
	// Archived is the ID of the revision that is known to be in the archive: Loaded if that is, else the last one, or empty.
	Archived RevisionID
	// Sources are the revisions of the sources that have them, as they were last read: a line each, sorted, or empty.
	Sources string
	// Annotated is the text of the approving annotations of the sources. It changes when they do.
	Annotated string
}

// Problem is something that keeps a tree from loading.
type Problem struct {
	Origin Origin
	// Err is an *engines.Error for problems that an edit of the scripts can fix,
	// ErrMissing, or why the source can't be read.
	Err error
}

// Origin is where a file or a problem is from: exactly one field is set.
type Origin struct {
	ConfigMap types.NamespacedName
	// Directory is the path below --scripts-dir.
	Directory string
	Flux      FluxOrigin
	Hook      string
}

// FluxOrigin is a folder of the artifact of an object of Flux.
type FluxOrigin struct {
	ObjectName
	// Path is slash-separated, or empty for the artifact's root.
	Path string
}

// ObjectName names an object that is a source.
type ObjectName struct {
	Kind string
	types.NamespacedName
}

// String returns "kind namespace/name".
func (n ObjectName) String() string { return n.Kind + " " + n.NamespacedName.String() }

// ConfigMapKind is the kind of objects that are ConfigMaps. Others are Flux's.
const ConfigMapKind = "ConfigMap"

// ConfigMapName returns the name of a ConfigMap as that of a source.
func ConfigMapName(namespace, name string) ObjectName {
	return ObjectName{ConfigMapKind, types.NamespacedName{Namespace: namespace, Name: name}}
}

// Object returns the name of the object that the origin is, or an empty one.
func (o Origin) Object() ObjectName {
	if o.ConfigMap.Name != "" {
		return ConfigMapName(o.ConfigMap.Namespace, o.ConfigMap.Name)
	}
	return o.Flux.ObjectName
}

// String returns "ConfigMap namespace/name", or another kind, "directory path" or "hook name".
func (o Origin) String() string {
	switch {
	case o.Flux.Path != "":
		return o.Flux.String() + " path " + o.Flux.Path
	case o.Hook != "":
		return "hook " + o.Hook
	case o.Directory != "":
		return "directory " + o.Directory
	}
	return o.Object().String()
}

// String returns "ConfigMap catset/catset-hooks: sync.js:14:9: Unexpected token".
func (p Problem) String() string {
	return engines.Truncate(fmt.Sprintf("%s: %s", p.Origin, p.Err), maxProblemText)
}

// Reason returns the problem's name on events and conditions.
func (p Problem) Reason() string {
	var e *engines.Error
	var test *testError
	switch {
	case errors.As(p.Err, &test):
		return ReasonTestsFailed
	case errors.As(p.Err, &e):
		return e.Kind.Reason()
	case errors.Is(p.Err, ErrMissing):
		return "ScriptSourceMissing"
	default:
		return "ScriptSourceUnreadable"
	}
}

// Message returns all problems, a line each, or "" if there are none.
func (s State) Message() string {
	lines := make([]string, 0, len(s.Problems)+1)
	for _, p := range s.Problems {
		lines = append(lines, p.String())
	}
	if s.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", s.More))
	}
	return strings.Join(lines, "\n")
}

// Undecided reports whether it is not known yet whether Desired serves, as it is being loaded or tested.
func (s State) Undecided() bool { return s.Testing != "" || !s.LoadingSince.IsZero() }

// Equal reports whether both states look the same to users.
func (s State) Equal(o State) bool {
	return s.Loaded == o.Loaded && s.Desired == o.Desired && s.Message() == o.Message() &&
		s.RestoredFrom == o.RestoredFrom && s.NotRestored == o.NotRestored && s.Warnings == o.Warnings &&
		s.LoadingSince.Equal(o.LoadingSince) && s.Testing == o.Testing && s.Held == o.Held && s.Previewing == o.Previewing &&
		s.Approved == o.Approved && s.NotArchived == o.NotArchived && s.Archived == o.Archived && s.NoBaselineReason == o.NoBaselineReason &&
		s.Sources == o.Sources && s.Annotated == o.Annotated
}

// withProblems returns the state with the problems, each once, and at most maxProblems.
func (s State) withProblems(problems []Problem) State {
	byText := map[string]Problem{}
	for _, p := range problems {
		byText[p.String()] = p
	}
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		s.Problems = append(s.Problems, byText[text])
	}
	if s.More = max(0, len(s.Problems)-maxProblems); s.More > 0 {
		s.Problems = s.Problems[:maxProblems]
	}
	return s
}

// list returns names for an error, sorted, at most maxListed.
func list(names iter.Seq[string]) string {
	all := slices.Sorted(names)
	switch {
	case len(all) == 0:
		return "none"
	case len(all) > maxListed:
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxListed], ", "), len(all)-maxListed)
	default:
		return strings.Join(all, ", ")
	}
}
