package livecluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/parent/samples"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// edit is what files change of a definition of the cluster.
type edit struct {
	dropped []string
	// previewed is set if a host previews the scripts. serving is what goes on if they are held, or nil if that can't be had.
	previewed bool
	serving   *Subject
	limits    *v1alpha1.ScriptPreview
	// settled is why a host asks no preview, or empty.
	settled string
	// id is what an approval names. generation is that of the spec that the files make, if that is edited as well, or zero.
	id         scripts.RevisionID
	generation int64
	// scriptsServe is set if the scripts are those that serve.
	scriptsServe bool
	// waits is set if the edit does not begin because another revision is pinned, and pins if it is the pin that is edited.
	waits, pins bool
	// before is what is run now, and gone what edits have deleted before.
	before *plan.Plan
	gone   *gone
}

// compareWithServing notes what a definition changes of the one in the cluster.
func (c *Config) compareWithServing(ctx context.Context, s *Subject, live []*unstructured.Unstructured, in surroundings) {
	i := slices.IndexFunc(live, func(d *unstructured.Unstructured) bool {
		return d.GetKind() == s.Definition.GetKind() && d.GetName() == s.Definition.GetName()
	})
	if i < 0 {
		return
	}
	d, err := plan.AsServed(live[i])
	if err != nil {
		return
	}
	before, err := stage.NewBase(d, in.resources, c.Host, time.Now())
	if err != nil {
		return
	}
	s.edit = &edit{dropped: droppedKinds(s, before), before: before.Plan}
	id, _, err := served(d, nil)
	set, errOfSpec := rolloutSpecOf(s.Definition)
	if err != nil || errOfSpec != nil || id == "" || s.Revision == "" {
		return
	}
	c.pin(ctx, s, set, id, in)
	if string(s.Revision) == id && plan.RunAlike(s.Definition, before.Definition) {
		return
	}
	s.edit.previewed, s.edit.scriptsServe = true, string(s.Revision) == id
	if err := s.setEditID(live[i]); err != nil {
		c.Reader.Warn(fmt.Sprintf("%s: what approves the edit is not known: %v", s.Name(), err))
	}
	defer c.setOthers(s, d, in)
	switch {
	case set != nil && set.Revision != "" && !s.Revision.IsKnownAs(scripts.RevisionID(set.Revision)):
		s.edit.settled, s.edit.waits = "spec.scriptRollout.revision pins another one, so that it does not begin", true
		return
	case s.isApproved(set, s.edit.id):
		s.edit.settled = scripts.ApprovedSummary
		return
	case set != nil && set.Preview != nil && *set.Preview == (v1alpha1.ScriptPreview{}) && !s.edit.pins:
		s.edit.settled = scripts.NoLimitSummary
		return
	case set != nil:
		s.edit.limits = set.Preview
	}
	s.edit.serving, s.edit.gone = c.servingSubject(ctx, d, id, in), s.goneBefore(d, set)
}

// setEditID notes what approves the edit of a definition that is in the cluster.
func (s *Subject) setEditID(stored *unstructured.Unstructured) error {
	if s.edit.id = s.Revision; s.edit.before == nil {
		return nil
	}
	next, err := s.Plan.Edit(string(s.Revision))
	if err != nil {
		return err
	}
	before, err := s.edit.before.Edit("")
	if err != nil {
		return err
	}
	if s.edit.id = scripts.RevisionID(next.ID(before)); s.edit.id == s.Revision {
		return nil
	}
	s.edit.generation = stored.GetGeneration()
	if !equality.Semantic.DeepEqual(stored.Object["spec"], s.Definition.Object["spec"]) {
		s.edit.generation++
	}
	return nil
}

// pin makes a definition run the archived revision that the files pin, if that does not serve already.
func (c *Config) pin(ctx context.Context, s *Subject, set *v1alpha1.ScriptRollout, serving string, in surroundings) {
	if set == nil || set.Revision == "" {
		return
	}
	if name := scripts.RevisionID(set.Revision); s.Revision.IsKnownAs(name) || scripts.RevisionID(serving).IsKnownAs(name) {
		return
	}
	pinned, err := c.archived(ctx, s.Definition, set.Revision, in)
	if err != nil {
		c.Reader.Warn(fmt.Sprintf("%s: the revision that spec.scriptRollout.revision pins can't be had: %v", s.Name(), err))
		return
	}
	pinned.edit = s.edit
	*s = *pinned
	s.edit.pins = true
}

// setOthers lets the definition, and the one that serves, call the scripts of other revisions, by which children were made.
func (c *Config) setOthers(s *Subject, d *unstructured.Unstructured, in surroundings) {
	type result struct {
		programs map[string]engines.Program
		err      error
	}
	known, serving := map[string]result{}, s.edit.serving
	s.others = func(ctx context.Context, id string) (map[string]engines.Program, error) {
		if serving != nil && string(serving.Revision) == id {
			return serving.Programs, nil
		}
		r, isKnown := known[id]
		if !isKnown {
			var other *Subject
			if other, r.err = c.archived(ctx, d, id, in); r.err == nil {
				r.programs = other.Programs
			}
			known[id] = r
		}
		return r.programs, r.err
	}
	if serving != nil {
		serving.others = s.others
	}
}

// droppedKinds returns the kinds of children of a definition of the cluster that are none of s.
func droppedKinds(s *Subject, before *stage.Base) []string {
	if before.Plan == nil {
		return nil
	}
	var all []string
	for _, rule := range before.Plan.Config.Children {
		if !s.hasChildren(rule.Kind.GroupKind()) {
			all = append(all, rule.GroupResource().String())
		}
	}
	return all
}

// hasChildren reports whether children of the definition are of a kind.
func (s *Subject) hasChildren(kind schema.GroupKind) bool {
	for _, rule := range s.Plan.Config.Children {
		if rule.Kind.GroupKind() == kind {
			return true
		}
	}
	return false
}

// servingSubject returns a definition of the cluster with the scripts of a revision: what the sources hold, or what is archived. It is nil
// if neither can be had.
func (c *Config) servingSubject(ctx context.Context, d *unstructured.Unstructured, id string, in surroundings) *Subject {
	own := *c
	var err error
	if own.Set, err = manifest.Load(ctx, manifest.Options{}); err == nil {
		own.Set.AddStored(d.DeepCopy())
		if s, err := own.subject(ctx, own.Set.Definitions[0], d, in); err == nil && string(s.Revision) == id {
			return s
		}
	}
	s, err := c.archived(ctx, d, id, in)
	if err != nil {
		c.Reader.Warn(fmt.Sprintf("%s: what serves now can't be had, so that all that the edit would do counts as its fault: %v", d.GetName(), err))
		return nil
	}
	return s
}

// isApproved reports whether the definition, its status or a ConfigMap approves an ID.
func (s *Subject) isApproved(set *v1alpha1.ScriptRollout, id scripts.RevisionID) bool {
	approved, _, _ := unstructured.NestedString(s.Definition.Object, "status", "scriptRollout", "approvedRevision")
	named := []string{approved}
	objects := []*unstructured.Unstructured{s.Definition}
	if set.CountsConfigMaps() {
		objects = append(objects, s.Sources()...)
	}
	for _, object := range objects {
		named = append(named, object.GetAnnotations()[v1alpha1.ApprovedRevisionAnnotation])
	}
	return slices.ContainsFunc(named, id.IsApprovedBy)
}

// sample gathers by what a host decides whether it holds an edit. A nil one gathers nothing.
type sample struct {
	*Subject
	rule     rollout.Rule
	partial  bool
	findings *rollout.Findings // of all parents, if there are limits
	members  []sampled         // otherwise those with the lowest hashes, the lowest first
	total    int
	release  released
}

// sampled is a parent, with the result of the edit.
type sampled struct {
	hash     uint64
	object   *unstructured.Unstructured // kind and metadata
	children rollout.Children
	batch    *rollout.Batch
}

// newSample returns a sample, or nil if a host previews nothing.
func (s *Subject) newSample(q Query) *sample {
	if s.edit == nil || !s.edit.previewed || s.edit.settled != "" {
		return nil
	}
	a := &sample{
		Subject: s, rule: rollout.RuleOf(s.edit.limits), findings: rollout.NewFindings(),
		partial: q.Namespace != "" || q.Selector != nil || q.MaxParents > 0,
	}
	if s.edit.pins { // Nothing previews it.
		a.rule = rollout.GuardRule(s.edit.limits, 1)
	}
	return a
}

// membersOf returns the parents of a batch as they are now: a preview uses up its objects.
func (a *sample) membersOf(b Batch) []sampled {
	if a == nil {
		return nil
	}
	children := rollout.Children{}
	for _, object := range b.Objects {
		owner := metav1.GetControllerOfNoCopy(object)
		kind := object.GroupVersionKind().GroupKind()
		if owner == nil || object.GetDeletionTimestamp() != nil || !a.hasChildren(kind) {
			continue
		}
		if children[owner.UID] == nil {
			children[owner.UID] = map[schema.GroupKind]int{}
		}
		children[owner.UID][kind]++
		a.edit.gone.see(object)
	}
	var all []sampled
	for _, object := range b.Parents {
		slim := (&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": object.Object["metadata"],
		}}).DeepCopy()
		all = append(all, sampled{
			hash: samples.Hash(object.GetUID()), object: slim, children: rollout.Children{object.GetUID(): children[object.GetUID()]},
		})
	}
	return all
}

// add adds the results for the parents of a batch.
func (a *sample) add(ctx context.Context, b Batch, members []sampled, results []*preview.Result) error {
	if a == nil {
		return nil
	}
	a.total += len(members)
	for i := range members {
		m := &members[i]
		effects := preview.EffectsOf(results[i].AfterFirst)
		if a.edit.pins { // A host asks only what is deleted.
			effects[0].Err = nil
		}
		m.batch = rollout.NewBatch([]*unstructured.Unstructured{m.object}, m.children, effects)
	}
	if !a.rule.WantsAll() {
		all := append(a.members, members...)
		slices.SortFunc(all, func(x, y sampled) int {
			return cmp.Or(cmp.Compare(x.hash, y.hash), cmp.Compare(x.object.GetUID(), y.object.GetUID()))
		})
		a.members = all[:min(len(all), rollout.SampleSize)]
		last := a.members[len(a.members)-1].hash
		members = slices.DeleteFunc(members, func(m sampled) bool { return m.hash > last })
	}
	if err := a.subtract(ctx, b, members); err != nil {
		return err
	}
	if a.rule.WantsAll() {
		for _, m := range members {
			a.findings.Add(m.batch)
		}
	}
	return nil
}

// subtract drops what the scripts that serve would do as well.
func (a *sample) subtract(ctx context.Context, b Batch, members []sampled) error {
	serving := a.edit.serving
	if serving == nil {
		return nil
	}
	hadParent := func(object *unstructured.Unstructured) bool { return serving.ruleOf(object) >= 0 }
	affected := map[string]*rollout.Batch{}
	for _, m := range members {
		for _, object := range m.batch.Affected(hadParent) {
			affected[string(object.GetUID())] = m.batch
		}
		m.batch.IgnoreNewParents(hadParent)
	}
	if len(affected) == 0 {
		return nil
	}
	again, err := b.Again()
	if err != nil {
		return err
	}
	in := preview.Input{
		Base: serving.base(a.Base), Objects: again.Objects, Programs: serving.Programs, Scripts: serving.scripts(ctx),
		Existing: again.Existing, Related: serving.related.Select, Passes: 1, OnlyDestroyed: true, Now: time.Now(),
	}
	var batches []*rollout.Batch
	for _, object := range again.Parents {
		if batch := affected[string(object.GetUID())]; batch != nil {
			in.Parents, batches = append(in.Parents, object), append(batches, batch)
		}
	}
	results, err := preview.Run(ctx, in)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return nil // All of it counts as that of the new scripts.
	}
	for i, o := range results {
		batches[i].Subtract(preview.EffectsOf(o))
	}
	return nil
}

// base returns the subject's, on a cluster that serves what another one's does, too.
func (s *Subject) base(other *stage.Base) *stage.Base {
	known := map[string]bool{}
	for _, resource := range s.Resources {
		known[resource.GroupVersionResource.String()] = true
	}
	next := *s.Base
	next.Resources = slices.Clip(next.Resources)
	for _, resource := range other.Resources {
		if !known[resource.GroupVersionResource.String()] {
			next.Resources = append(next.Resources, resource)
		}
	}
	return &next
}

// verdict returns what a host would make of the edit.
func (s *Subject) verdict(a *sample) rollout.Verdict {
	if s.edit == nil {
		return rollout.Verdict{}
	}
	v := rollout.Verdict{Dropped: s.edit.dropped}
	if !s.edit.previewed {
		return v
	}
	v.Revision, v.Basis, v.Waits = string(s.Revision), s.edit.settled, s.edit.waits
	if a == nil {
		v.Sentence = s.sentence(v)
		return v
	}
	for _, m := range a.members {
		a.findings.Add(m.batch)
	}
	a.findings.Total = a.total
	if !a.partial {
		s.edit.gone.addTo(a.findings)
	}
	v.Held, v.Basis, v.Unknown = a.findings.Why(a.rule), a.findings.Summary(), a.findings.Unknown
	if a.partial {
		v.Basis += "; a host considers others, too, which were not requested"
	}
	v.LetsGo = a.release.String()
	if v.Held != "" {
		v.Approve = fmt.Sprintf("libretto rollout approve %s %s", v1alpha1.ArgumentOf(s.Definition), s.edit.id.Short())
	}
	v.Sentence = s.sentence(v)
	if v.Sentence == scripts.ServesText(s.Revision, v.Basis) && a.total == 0 && !a.partial {
		v.Sentence = scripts.ServesText(s.Revision)
	}
	return v
}

// sentence returns what a host would say of the edit.
func (s *Subject) sentence(v rollout.Verdict) string {
	switch {
	case v.Waits, v.Held == "" && s.edit.scriptsServe:
		return ""
	case v.Held != "" && s.edit.pins:
		return scripts.PinHeldText(s.Revision, v.Held)
	case v.Held != "":
		return scripts.HeldText(s.Revision, s.edit.generation, v.Held)
	case s.edit.pins:
		return scripts.PinnedText(s.Revision)
	default:
		return scripts.ServesText(s.Revision, v.Basis)
	}
}
