package livecluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// Config is what subjects are made of.
type Config struct {
	Reader *Reader
	// Discovery tells which resources the cluster serves, and OpenAPI its schemas.
	Discovery clientdiscovery.DiscoveryInterface
	OpenAPI   openapi.Fetcher
	// Set are the files: definitions, scripts, or both. What is missing is read from the cluster, and added.
	Set *manifest.Set
	// Engines run the scripts.
	Engines *engines.Registry
	stage.Host
	// Kubernetes reads archived revisions of scripts.
	Kubernetes archive.Client
}

// Subject is a definition as the files would make it, on the cluster that there is.
type Subject struct {
	*stage.Base
	Programs map[string]engines.Program
	// Revision is the ID of the scripts, or empty if no hook is one.
	Revision scripts.RevisionID
	reader   Reader
	related  *Related
	// set has the definition and its scripts.
	set *manifest.Set
	// others returns the scripts of another revision, by which children were made. It may be nil.
	others func(ctx context.Context, id string) (map[string]engines.Program, error)
	// edit is what the files change of the definition of the cluster. It is nil if there is none, and for explain and capture.
	edit *edit
}

// Name returns the definition's kind and name.
func (s *Subject) Name() string { return apply.KeyOf(s.Definition).String() }

// Sources returns the ConfigMaps that the scripts are from.
func (s *Subject) Sources() []*unstructured.Unstructured {
	spec, err := s.Plan.Scripts()
	if err != nil {
		return nil
	}
	var all []*unstructured.Unstructured
	for _, object := range s.set.Objects {
		name := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
		isSource := func(source scripts.Source) bool { return source.ConfigMap != nil && source.Origin().ConfigMap == name }
		if slices.ContainsFunc(spec.Sources, isSource) {
			all = append(all, object.Unstructured)
		}
	}
	return all
}

// openAPITimeout is how long a schema may take. Without it lists are merged by the names of fields.
const openAPITimeout = 10 * time.Second

// Subjects returns the definitions among the files, and those of the cluster that take scripts from the ConfigMaps among the files. An
// error means that there are none; those that can't be run have one of their own.
func (c *Config) Subjects(ctx context.Context) ([]Found, error) {
	definitions, live, err := c.definitions(ctx)
	if err != nil {
		return nil, err
	}
	surroundings, err := c.surroundings()
	if err != nil {
		return nil, err
	}
	var all []Found
	for _, given := range definitions {
		f := Found{Definition: merged(given.Unstructured, live)}
		if f.Subject, f.Err = c.subject(ctx, given, f.Definition, surroundings); f.Err != nil {
			f.Subject = nil
		} else {
			c.compareWithServing(ctx, f.Subject, live, surroundings)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		all = append(all, f)
	}
	return all, nil
}

// surroundings are what the cluster and the files serve.
type surroundings struct {
	// resources are those beside the built-in ones, and known are those whose schemas are known.
	resources, known []memcluster.Resource
}

func (c *Config) surroundings() (surroundings, error) {
	served, err := discovery.List(c.Discovery)
	if err != nil {
		return surroundings{}, err
	}
	builtIn, err := validation.BuiltIn()
	if err != nil {
		return surroundings{}, err
	}
	files := c.Set.Resources()
	return surroundings{append(Served(served, slices.Concat(builtIn, files)), files...), slices.Concat(builtIn, files)}, nil
}

// subject plans a definition and compiles its scripts. merged is the definition with the metadata of the cluster.
func (c *Config) subject(
	ctx context.Context, given *document.Object, merged *unstructured.Unstructured, in surroundings,
) (*Subject, error) {
	base, err := c.base(ctx, merged, in.resources, in.known)
	if err != nil {
		return nil, err
	}
	s := &Subject{Base: base, reader: *c.Reader}
	if usesServerSide(base.Plan) {
		s.reader.managed = true
	}
	s.related = s.reader.NewRelated()
	s.set = c.Set
	compiled, err := c.programs(ctx, given, base.Plan)
	s.Programs, s.Revision = compiled.ByHook, compiled.Revision
	return s, err
}

// definitions returns those of the files, then those of the cluster that the files' ConfigMaps are for, and all of the cluster.
func (c *Config) definitions(ctx context.Context) (all []*document.Object, live []*unstructured.Unstructured, err error) {
	if live, err = c.Reader.Definitions(ctx); err != nil {
		return nil, nil, err
	}
	given := map[string]bool{}
	for _, d := range c.Set.Definitions {
		given[manifest.Name(d)] = true
	}
	ours := map[types.NamespacedName]bool{}
	for _, name := range c.Set.ConfigMaps() {
		ours[name] = true
	}
	for _, d := range live {
		o := &document.Object{Unstructured: d}
		if !given[manifest.Name(o)] && takesFrom(d, ours) {
			c.Set.AddStored(d)
		}
	}
	if len(c.Set.Definitions) == 0 {
		return nil, nil, errors.New("there is no definition among the files, and none of the cluster takes scripts from their ConfigMaps: " +
			"give definitions or ConfigMaps with -f")
	}
	return c.Set.Definitions, live, nil
}

// takesFrom reports whether a definition takes scripts from one of the ConfigMaps.
func takesFrom(d *unstructured.Unstructured, configMaps map[types.NamespacedName]bool) bool {
	sources, _, _ := unstructured.NestedSlice(d.Object, "spec", "scriptSources")
	for _, source := range sources {
		fields, _ := source.(map[string]any)
		namespace, _, _ := unstructured.NestedString(fields, "configMap", "namespace")
		name, _, _ := unstructured.NestedString(fields, "configMap", "name")
		if configMaps[types.NamespacedName{Namespace: namespace, Name: name}] {
			return true
		}
	}
	return false
}

// merged returns a definition with the metadata that it has in the cluster, if it is there.
func merged(given *unstructured.Unstructured, live []*unstructured.Unstructured) *unstructured.Unstructured {
	i := slices.IndexFunc(live, func(d *unstructured.Unstructured) bool {
		return d.GetKind() == given.GetKind() && d.GetName() == given.GetName()
	})
	if i < 0 {
		return given
	}
	next := live[i].DeepCopy()
	next.Object["spec"] = given.Object["spec"]
	with := func(all, more map[string]string) map[string]string {
		if all = maps.Clone(all); all == nil {
			return more
		}
		maps.Copy(all, more)
		return all
	}
	next.SetLabels(with(next.GetLabels(), given.GetLabels()))
	next.SetAnnotations(with(next.GetAnnotations(), given.GetAnnotations()))
	return next
}

// base plans a definition twice: its kinds tell which CustomResourceDefinitions to read.
func (c *Config) base(ctx context.Context, d *unstructured.Unstructured, resources, known []memcluster.Resource) (*stage.Base, error) {
	now := time.Now()
	base, err := stage.NewBase(d, resources, c.Host, now)
	if err != nil {
		return nil, err
	}
	if base.Refusal == nil {
		schemas, err := c.Reader.Schemas(ctx, base.Plan, known)
		if err != nil {
			return nil, err
		}
		if base, err = stage.NewBase(d, append(slices.Clip(resources), schemas...), c.Host, now); err != nil {
			return nil, err
		}
	}
	if base.Refusal != nil {
		return nil, base.Refusal
	}
	base.Schemas = openapi.New(openapi.Config{
		API: overlay{files: validation.Documents(c.Set.Resources()), live: c.OpenAPI}, Interval: time.Hour, Timeout: openAPITimeout,
		Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	return base, nil
}

// usesServerSide reports whether the definition applies children by server-side apply, which uses managedFields.
func usesServerSide(plan *plan.Plan) bool {
	for _, rule := range plan.Config.Children {
		if rule.Strategy == apply.ServerSideApply {
			return true
		}
	}
	return false
}

// addSources adds the ConfigMaps of scripts that are not among the files.
func (c *Config) addSources(ctx context.Context, spec scripts.Spec) error {
	known := c.Set.ConfigMaps()
	for _, source := range spec.Sources {
		if source.ConfigMap == nil || slices.Contains(known, source.Origin().ConfigMap) {
			continue
		}
		object, err := c.Reader.ConfigMap(ctx, source.Origin().ConfigMap)
		if err != nil {
			return err
		}
		if object != nil {
			c.Set.AddStored(object)
		}
	}
	return nil
}

// programs compiles the scripts of a definition.
func (c *Config) programs(ctx context.Context, d *document.Object, plan *plan.Plan) (manifest.Programs, error) {
	spec, err := plan.Scripts()
	if err != nil {
		return manifest.Programs{}, err
	}
	if err := c.addSources(ctx, spec); err != nil {
		return manifest.Programs{}, err
	}
	compiled, err := c.Set.Programs(ctx, c.Engines, d, spec)
	for _, warning := range compiled.Warnings {
		c.Reader.Warn(warning.Error())
	}
	if err != nil {
		return compiled, err
	}
	for _, named := range plan.Hooks {
		if compiled.ByHook[string(named.Name)] == nil || named.Hook.Serving() == v1alpha1.WebhookBackend {
			return compiled, fmt.Errorf("spec.hooks.%s is a webhook: what a server would answer can't be known before it serves: "+
				"give a script in its place, or let the host preview the server with spec.hooks.%s.webhook.sideEffects: None", named.Name, named.Name)
		}
	}
	return compiled, nil
}

// scripts names the revision of the programs, as for a host: what was made by another one is rolled out where the definition says so.
func (s *Subject) scripts(ctx context.Context) *preview.Scripts {
	if s.Revision == "" || s.others == nil {
		return nil
	}
	others := func(id string) (map[string]engines.Program, error) { return s.others(ctx, id) }
	return &preview.Scripts{Revision: string(s.Revision), Others: others}
}

// Preview calls each with the result for each parent, and returns what a host would make of the edit.
func (s *Subject) Preview(ctx context.Context, q Query, each func(*preview.Result, int)) (rollout.Verdict, error) {
	deselected := map[types.UID]bool{}
	q.Plan, q.NotSelected = s.Plan, func(object *unstructured.Unstructured) {
		if s.edit != nil && s.edit.before != nil && ruleOf(s.edit.before, object) >= 0 && s.ruleOf(object) < 0 {
			deselected[object.GetUID()] = true
		}
	}
	sample := s.newSample(q)
	err := s.reader.Batches(ctx, q, func(b Batch) error {
		members := sample.membersOf(b)
		results, err := preview.Run(ctx, preview.Input{
			Base: s.Base, Objects: b.Objects, Parents: b.Parents, Programs: s.Programs, Scripts: s.scripts(ctx), AfterFirst: sample != nil,
			Existing: b.Existing, Related: s.related.Select, Now: time.Now(),
		})
		for _, o := range results {
			each(o, b.Total)
		}
		if err == nil {
			err = sample.add(ctx, b, members, results)
		}
		if err == nil {
			err = sample.addReleased(ctx, b)
		}
		return err
	})
	v := s.verdict(sample)
	v.Deselected = len(deselected)
	return v, err
}

// overlay is the OpenAPI documents of a cluster with those of CustomResourceDefinitions in files over them.
type overlay struct {
	files validation.OpenAPI
	live  openapi.Fetcher
}

// Fetch returns the index of both, or a document.
func (o overlay) Fetch(ctx context.Context, path string) ([]byte, error) {
	text, err := o.files.Fetch(ctx, path)
	if err != nil {
		return o.live.Fetch(ctx, path)
	}
	type index struct {
		Paths map[string]any `json:"paths"`
	}
	var ours, all index
	if json.Unmarshal(text, &ours) != nil || ours.Paths == nil {
		return text, nil // A document.
	}
	live, err := o.live.Fetch(ctx, path)
	if err != nil {
		return text, nil // Schemas only make lists merge as the API server does.
	}
	if err := json.Unmarshal(live, &all); err != nil || all.Paths == nil {
		return text, nil
	}
	maps.Copy(all.Paths, ours.Paths)
	return json.Marshal(all)
}
