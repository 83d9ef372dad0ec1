package scripts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
	"github.com/libretto-k8s/libretto/scripts/archive"
	"github.com/libretto-k8s/libretto/scripts/artifact"
)

// Spec is the part of a definition that is about scripts. It must not change once a tree is open on it.
type Spec struct {
	// Definition names the definition, as "CompositeController catset", in
	// metrics and logs.
	Definition string
	// Account reads the ConfigMaps and the objects of Flux, and archives revisions.
	Account identity.Account
	// Sources give the files of the module tree, each path at most once.
	Sources []Source
	// Hooks are those that a script answers, by the name of the hook.
	Hooks map[string]Hook
	// Archive is where revisions that loaded are archived, so that they outlive this
	// process. Nil means nowhere.
	Archive *archive.Location
	// Serving is the ID of the archived revision to start with if the sources don't load,
	// or empty. It comes from where only the host writes: other archived revisions are
	// not trusted.
	Serving RevisionID
	// Stable is the ID of the one to start with if Serving is in the archive no more, or empty.
	Stable RevisionID
	// Retained returns the IDs of further revisions that are in use: the archive does not delete them, and they stay in memory. It is called
	// from goroutines of the tree, and returns at once. It may be nil.
	Retained func() []RevisionID
	// RetainedKnown reports whether Retained returns all of them by now: until then the archive deletes nothing. Nil means that it does.
	RetainedKnown func() bool
	// Preview computes what a revision would do, before it takes over. Nil means that each one that loads takes over.
	Preview PreviewFunc
	// EditID returns what an approval names that lets a revision take over, if that is more than an edit of the scripts. Nil is the
	// revision itself. It is called from goroutines of the tree, and returns at once.
	EditID func(RevisionID) RevisionID
	// SettleTime is how long what would do harm, or does not load, is neither reported nor served, because the spec may be about to change.
	// Zero means that it is reported at once.
	SettleTime time.Duration
	// AwaitEdit makes a revision that loads wait for an edit of the sources, for SettleTime at most, because the spec has changed.
	AwaitEdit bool
	// HeldBefore is the EditID of the revision that was held when the previous process ended, or empty.
	HeldBefore RevisionID
	// Object is the definition as it is in the cluster, for the tests that come with scripts.
	Object *unstructured.Unstructured
	// IgnoreTests lets a text serve whatever its tests say.
	IgnoreTests bool
	// Follows is set if another process decides which revisions serve, and tests and archives them.
	Follows bool
	// Coverage makes calls report which points of the scripts they reach, for tests.
	Coverage bool
	// Outline makes programs have an outline, for checks.
	Outline bool
}

// Source is a place that files come from. Exactly one field is set.
type Source struct {
	ConfigMap *ConfigMap
	Directory *Directory
	Flux      *Flux
}

// Directory takes all files below a directory of the host's, which need not exist yet.
type Directory struct {
	// Path is slash-separated and below the library's root; a dot is the root itself.
	Path string
}

// ConfigMap takes files from the keys of a ConfigMap, which need not exist yet.
type ConfigMap struct {
	Namespace, Name string
	// Items are the keys to take. Without any, all are taken, each as the file of its name.
	Items []Item
	// Prefix is a folder to put the files in, or empty.
	Prefix string
}

// Flux takes the files of the artifact of an object of Flux, which need not exist yet.
type Flux struct {
	FluxOrigin
	// Prefix is a folder to put the files in, or empty.
	Prefix string
}

// Item puts what a key holds at a slash-separated path.
type Item struct {
	Key, Path string
}

// Hook is a script that answers a hook. Exactly one of Path and Inline is set.
type Hook struct {
	// Path is the entry in the module tree.
	Path string
	// Inline is the text itself, which becomes a file at the root of the tree.
	Inline string
	// Engine is the engine's name. It may be empty with Path: then the file's extension decides.
	Engine string
	// Function, Signature and Parameters are those of engines.Script. No signature means engines.Request.
	Function   string
	Signature  engines.Signature
	Parameters any
	// MemoryBytes is that of engines.Script.
	MemoryBytes int64
}

// check returns the errors of a spec that do not depend on its sources.
func (s Spec) check() error {
	var errs []error
	for i, source := range s.Sources {
		errs = append(errs, source.check(fmt.Sprintf("scriptSources[%d]", i)))
	}
	for _, name := range s.hookNames() {
		errs = append(errs, s.Hooks[name].check(fmt.Sprintf("hooks.%s.script", name)))
	}
	return errors.Join(errs...)
}

func (s Source) check(at string) error {
	switch {
	case s.ConfigMap != nil && s.Directory == nil && s.Flux == nil:
		return s.ConfigMap.check(at + ".configMap")
	case s.Directory != nil && s.ConfigMap == nil && s.Flux == nil:
		if s.Directory.Path == "." {
			return nil
		}
		return checkPath(at+".directory.path", s.Directory.Path)
	case s.Flux != nil && s.ConfigMap == nil && s.Directory == nil:
		return s.Flux.check(at + ".flux")
	}
	return fmt.Errorf("%s: exactly one of configMap, directory and flux is required", at)
}

func (f *Flux) check(at string) error {
	var errs []error
	if _, known := artifact.ResourceFor(f.Kind); !known || f.Namespace == "" || f.Name == "" {
		errs = append(errs, fmt.Errorf("%s: namespace, name and one of the kinds that Flux has are required", at))
	}
	if f.Path != "" && f.Path != "." {
		errs = append(errs, checkPath(at+".path", f.Path))
	}
	if f.Prefix != "" {
		errs = append(errs, checkPath(at+".prefix", f.Prefix))
	}
	return errors.Join(errs...)
}

func (c *ConfigMap) check(at string) error {
	var errs []error
	if c.Namespace == "" || c.Name == "" {
		errs = append(errs, fmt.Errorf("%s: namespace and name are required", at))
	}
	if c.Prefix != "" {
		errs = append(errs, checkPath(at+".prefix", c.Prefix))
	}
	for i, item := range c.Items {
		errs = append(errs, checkPath(fmt.Sprintf("%s.items[%d].path", at, i), item.Path))
	}
	return errors.Join(errs...)
}

func (h Hook) check(at string) error {
	switch {
	case h.Path == "" && h.Inline == "":
		return fmt.Errorf("%s: path or inline is required", at)
	case h.Path != "" && h.Inline != "":
		return fmt.Errorf("%s: path and inline exclude each other", at)
	case h.Inline != "" && h.Engine == "":
		return fmt.Errorf("%s: inline has no file extension to go by: engine is required", at)
	case h.Signature != "" && h.Signature != engines.Request && h.Signature != engines.HTTPContext:
		return fmt.Errorf("%s: signature %q must be %s or %s", at, h.Signature, engines.Request, engines.HTTPContext)
	case h.Path != "":
		return checkPath(at+".path", h.Path)
	}
	return nil
}

// checkPath returns an error for a path that leaves the tree or is not clean.
func checkPath(at, path string) error {
	if path == "." || !fs.ValidPath(path) {
		return fmt.Errorf("%s: %q must be a path inside the tree, such as lib/sync.js: no leading slash, no empty, . or .. element", at, path)
	}
	return nil
}

// encodeHooks returns the hooks' share of a revision's fingerprint.
func (s Spec) encodeHooks() ([]byte, error) {
	encoded, err := json.Marshal(s.Hooks)
	if err != nil {
		return nil, fmt.Errorf("hooks: parameters are not JSON: %w", err)
	}
	return encoded, nil
}

// withHooks returns the spec with the hooks that encodeHooks encoded.
func (s Spec) withHooks(encoded []byte) (Spec, error) {
	s.Hooks = nil
	if err := json.Unmarshal(encoded, &s.Hooks); err != nil {
		return s, fmt.Errorf("hooks: %w", err)
	}
	return s, s.check()
}

func (s Spec) hookNames() []string { return slices.Sorted(maps.Keys(s.Hooks)) }

// trustDomain names who wrote the scripts: the namespaces of the ConfigMaps and of Flux's objects, and of a definition with a namespace,
// sorted. It is empty if only the host did, who is trusted everywhere: other definitions and directories are its own.
func (s Spec) trustDomain() string {
	namespaces := map[string]struct{}{}
	if s.Object != nil && s.Object.GetNamespace() != "" {
		namespaces[s.Object.GetNamespace()] = struct{}{}
	}
	for _, source := range s.Sources {
		if object := source.Origin().Object(); object.Namespace != "" {
			namespaces[object.Namespace] = struct{}{}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(namespaces)), ",")
}

// origins returns the origins of the sources, each once.
func (s Spec) origins() map[Origin]struct{} {
	origins := map[Origin]struct{}{}
	for _, source := range s.Sources {
		origins[source.Origin()] = struct{}{}
	}
	return origins
}

// Origin returns the origin of the source's files.
func (s Source) Origin() Origin {
	switch {
	case s.Directory != nil:
		return Origin{Directory: s.Directory.Path}
	case s.Flux != nil:
		return Origin{Flux: s.Flux.FluxOrigin}
	}
	return Origin{ConfigMap: types.NamespacedName{Namespace: s.ConfigMap.Namespace, Name: s.ConfigMap.Name}}
}
