// Package hosted previews edits of scripts in a host, before they take over: on a sample of the parents or on all of them, from the host's
// caches, without a request, and in the background.
package hosted

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent/samples"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/scripts"
)

// Limits of previews: authors of scripts are not trusted.
const (
	// sampleTime and allTime are how long the calls of the new text may take together, on a sample and on all parents. Parents whose turn has
	// not come then are unknown. Those of the text that serves, and of what is repeated, may take sampleTime for each batch.
	sampleTime = 30 * time.Second
	allTime    = 5 * time.Minute
	// maxBytes is the memory that the answers for one batch may take, about.
	maxBytes = 64 << 20
	// maxPreviews is how many batches are previewed at once. A batch waits for those of others for as long as these take: each trust domain
	// has one turn at a time, in the order in which they have asked.
	maxPreviews = 2
	// maxLate is how many parents with calls that take too long are reported. No more are made then.
	maxLate = 3
	// batchSize is the size of the sample, and how many of all parents are previewed in one go.
	batchSize = rollout.SampleSize
)

// Previewer previews edits of scripts. It is a definition.Previewer.
type Previewer struct {
	namespace string
	schemas   *openapi.Source
	access    *access.Reviewer
	slots     *scripts.Slots
	batch     int
}

// New returns a Previewer of a host in a namespace. schemas are those of the API server, which the host has read, and
// reviewer knows what accounts may do; both may be nil.
func New(namespace string, schemas *openapi.Source, reviewer *access.Reviewer) *Previewer {
	return &Previewer{namespace: namespace, schemas: schemas, access: reviewer, slots: scripts.NewSlots(maxPreviews, 0, nil), batch: batchSize}
}

// Preview makes one pass over each parent of a sample, or over all parents if there are limits for them, with the new scripts. If these
// would do harm, a second one with those that serve tells which of it is theirs.
func (p *Previewer) Preview(ctx context.Context, subject definition.PreviewSubject) scripts.Preview {
	rule, most := rollout.RuleOf(subject.Limits), sampleTime
	if limits := subject.Limits; limits != nil {
		if *limits == (v1alpha1.ScriptPreview{}) {
			return scripts.Preview{Summary: scripts.NoLimitSummary}
		}
		most = allTime
	}
	r := &run{Previewer: p, PreviewSubject: subject, rule: rule, findings: rollout.NewFindings()}
	for first := true; ; first = false {
		more, err := r.next(ctx, first, most)
		switch {
		case err != nil && r.findings.Known == 0:
			return scripts.Preview{
				Unknown: r.findings.Unknown + r.left(), RepeatAfter: scripts.PreviewInterval, Held: fmt.Sprintf("it could not be previewed: %v", err),
			}
		case err != nil:
			r.findings.AddUnknown(r.left(), err)
		}
		switch {
		case err == nil && more:
		case r.findings.Total == 0:
			return scripts.Preview{} // There are no parents.
		case subject.NoBaseline && !r.findings.HasChildren() && r.findings.Unknown == 0:
			return scripts.Preview{} // There are no children.
		default:
			return r.result(ctx)
		}
	}
}

// result returns what the findings come to.
func (r *run) result(ctx context.Context) scripts.Preview {
	f := r.findings
	f.AddGone(r.Gone)
	if f.IsBusy(r.rule) {
		return scripts.Preview{Later: true, RepeatAfter: scripts.PreviewInterval}
	}
	p := scripts.Preview{
		Unknown: f.Unknown, Held: f.Why(r.rule), Summary: f.Summary(), NoBaseline: r.NoBaseline,
	}
	missing, unknown := r.missing(ctx)
	p.Summary += unknown
	if missing != "" {
		p.Held = strings.TrimPrefix(p.Held+"; "+missing, "; ")
	}
	if p.Held != "" && (missing != "" || f.MayPass()) {
		p.RepeatAfter = scripts.RepeatAfter(time.Since(r.began))
	}
	p.Destroys = p.Held == "" && f.Destroys()
	return p
}

// run is one preview.
type run struct {
	*Previewer
	definition.PreviewSubject
	rule     rollout.Rule
	sampler  *samples.Sampler
	findings *rollout.Findings
	rights   usedRights
	began    time.Time
	// until is when no more calls of the new text are made.
	until time.Time
}

// left returns how many parents were not handed out.
func (r *run) left() int {
	if r.sampler == nil {
		r.sampler = r.Parents()
	}
	return r.sampler.Left()
}

// next previews the next parents, and reports whether there are more to preview. It holds a slot meanwhile.
func (r *run) next(ctx context.Context, first bool, most time.Duration) (more bool, err error) {
	release, err := r.slots.Acquire(ctx, r.TrustDomain)
	if err != nil {
		return false, err
	}
	defer release()
	if first {
		r.sampler, r.began = r.Parents(), time.Now()
		r.until = r.began.Add(most)
	}
	f := r.findings
	sample := r.sampler.Next(r.batch)
	f.Total = r.sampler.Total
	if len(sample.Parents) == 0 {
		return false, nil
	}
	b, err := r.preview(ctx, sample)
	if err != nil {
		f.AddUnknown(len(sample.Parents), err)
		return false, err
	}
	f.Add(b)
	switch {
	case !r.rule.WantsAll(), r.sampler.Left() == 0, r.rule.IsDecided(f):
		return false, nil
	case f.Late >= maxLate:
		f.AddUnknown(r.sampler.Left(), rollout.ErrLate)
		return false, nil
	case time.Now().After(r.until):
		f.AddUnknown(r.sampler.Left(), errTime)
		return false, nil
	}
	return true, nil
}

// preview previews parents with the new scripts, and those that it would harm with the ones that serve.
func (r *run) preview(ctx context.Context, sample *samples.Sample) (*rollout.Batch, error) {
	if r.NoBaseline && len(sample.Children) == 0 {
		return rollout.NewBatch(sample.Parents, nil, nil), nil // Nothing can be lost.
	}
	results, err := r.results(ctx, sample)
	if err != nil {
		return nil, err
	}
	b := rollout.NewBatch(sample.Parents, sample.Children, preview.EffectsOf(results...))
	if r.NoBaseline {
		b.AssumeNoBaseline(func(object *unstructured.Unstructured) bool { return isParent(r.Plan, object) })
	}
	if r.Serving == nil || len(r.Gone) == 0 && !r.rule.IsViolated(b) {
		return b, nil
	}
	hadParent := func(object *unstructured.Unstructured) bool { return isParent(r.Serving, object) }
	before, err := r.servingPass(ctx, sample, time.Now().Add(sampleTime)).run(ctx, b.Affected(hadParent))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil { // Otherwise all of it counts as theirs.
		b.Subtract(preview.EffectsOf(before...))
	}
	b.IgnoreNewParents(hadParent)
	return b, nil
}

// results returns those of the new scripts. If a call takes too long, the host may have been busy: it is made once more, after those
// that were not made because of it.
func (r *run) results(ctx context.Context, sample *samples.Sample) ([]*preview.Result, error) {
	ctx = simulation.WithObserver(ctx, &r.rights)
	results, err := r.newPass(ctx, sample, r.until).run(ctx, sample.Parents)
	if err != nil {
		return nil, err
	}
	at := map[apply.Key]int{}
	for i, o := range results {
		at[o.Parent] = i
	}
	var late, unmade []*unstructured.Unstructured
	for _, object := range sample.Parents {
		switch err := results[at[apply.KeyOf(object)]].Err; {
		case errors.Is(err, rollout.ErrLate):
			unmade = append(unmade, object)
		case rollout.IsLate(err):
			late = append(late, object)
		}
	}
	if len(late) == 0 {
		return results, nil
	}
	again, err := r.newPass(ctx, sample, time.Now().Add(sampleTime)).inTurn(ctx, append(unmade, late...))
	for _, o := range again {
		if i := at[o.Parent]; !rollout.IsLate(results[i].Err) || !rollout.IsUnknown(o.Err) || errors.Is(o.Err, engines.ErrNoWorker) {
			results[i] = o // A call that is not made again, for what it has cost, says nothing new.
		}
	}
	return results, err
}

// isParent reports whether an object is a parent of a plan.
func isParent(plan *plan.Plan, object *unstructured.Unstructured) bool {
	for _, rule := range plan.Config.Parents {
		if rule.Kind == object.GroupVersionKind() && rule.Selects(object) {
			return true
		}
	}
	return false
}

// unknownUnless returns why objects that a hook asks for can't be had from the caches, or nil.
func unknownUnless(cached bool, err error, what string) error {
	switch {
	case errors.Is(err, samples.ErrTooMuch):
		return rollout.SkippedCallError(err.Error())
	case errors.Is(err, samples.ErrNotCached):
		return fmt.Errorf("%w: %w", rollout.ErrUnknown, err)
	case err == nil && !cached:
		return fmt.Errorf("%w: %s are in no cache", rollout.ErrUnknown, what)
	}
	return err
}

// knownResources returns the resources of the cluster in memory. Their objects are as the API server has stored them: nothing is decoded.
// What is known of built-in ones is what is surely refused, and of others what is wrong with their metadata.
func knownResources(resources []discovery.Resource, serving *plan.Plan, related ...[]discovery.Resource) []memcluster.Resource {
	all := memcluster.BuiltIn()
	known := map[string]bool{}
	for i, resource := range all {
		known[resource.GroupVersionResource.String()] = true
		all[i].Rules = validation.Rules(resource.Resource)
	}
	add := func(resources []discovery.Resource) {
		for _, resource := range resources {
			if name := resource.GroupVersionResource.String(); !known[name] {
				known[name] = true
				all = append(all, memcluster.Resource{Resource: resource, Generation: true, Rules: validation.Rules(resource)})
			}
		}
	}
	add(resources)
	if serving != nil {
		add(serving.Resources())
	}
	for _, resources := range related {
		add(resources)
	}
	return all
}
