// Package preview tells what a definition would do with the objects of a cluster, and writes nothing.
//
// The host's own reconciler makes its passes on a cluster in memory that holds what a pass reads of the real one: its writes are there,
// laid over what is there, until nothing changes any more. What differs then is what the definition would have done.
package preview

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// Input is what a preview is about.
type Input struct {
	// Base is the definition and what the cluster serves.
	*stage.Base
	// Objects are what a pass over the parents reads, as the API server or a cache returned them: parents, children, inputs,
	// ControllerRevisions, and Namespaces if the definition selects by their labels. They are not changed, and must not be.
	Objects []*unstructured.Unstructured
	// Parents are those of Objects over which passes are made.
	Parents []*unstructured.Unstructured
	// Programs answer the hooks.
	Programs map[string]engines.Program
	// Scripts names those that the programs are of, or is nil if there are no others.
	Scripts *Scripts
	// Existing returns an object that Objects lack, or nil if there is none. It is asked before one is created under that name.
	Existing func(memcluster.Resource, types.NamespacedName) (*unstructured.Unstructured, error)
	// Related returns what the customize hook selects, with the Namespaces if it selects by these.
	Related func(context.Context, parent.Selection) ([]*unstructured.Unstructured, error)
	// Reads tells whether the account of the definition may read what hooks would be shown. Nil means that it may.
	Reads *access.Reviewer
	// Passes is how many passes are made over each parent. Zero means until nothing changes any more.
	Passes int
	// OnlyDestroyed leaves out of the results what destroys nothing, and which fields differ, for who counts.
	OnlyDestroyed bool
	// AfterFirst adds to the results what the first pass alone has destroyed, which is what decides in hosts.
	AfterFirst bool
	// Detailed keeps the first pass in the results.
	Detailed bool
	// Now is the time of the first pass. Each further one is a second later.
	Now time.Time
}

// Scripts are the revisions of a definition's scripts.
type Scripts = simulation.Scripts

// Limits of what is waited for.
const (
	// maxRewrites is how many passes may write the same object. Status is not counted with the rest of an object.
	maxRewrites = 10
	// maxWrites is how many passes over one parent may write anything.
	maxWrites = 500
)

// Run makes passes over the parents until nothing changes any more. Objects that the definition has written become ready in between, so
// that a rollout goes on; what was there before stays as it is. An error means that there is no preview: what fails for one
// parent is in its result.
func Run(ctx context.Context, in Input) ([]*Result, error) {
	clock := clocktesting.NewFakeClock(in.Now)
	session, err := simulation.Run(ctx, simulation.Input{
		Definition: in.Definition, Plan: in.Plan, Objects: in.Objects, Stored: true, Existing: in.Existing, Related: in.Related,
		Resources: in.Resources, Programs: in.Programs, Scripts: in.Scripts, Clock: clock, RevisionNamespace: in.HostNamespace,
		Schemas: in.Schemas, Reads: in.Reads, Log: logr.Discard(),
	})
	if err != nil {
		return nil, err
	}
	defer session.Close()
	r := &run{Input: in, session: session, wrote: map[apply.Key]bool{}}
	for _, object := range in.Parents {
		r.parents = append(r.parents, newProgress(object))
	}
	loop := stage.Loop{Session: session, Clock: clock, Pass: r.pass, Ready: r.isWritten, Warn: func(string) {}}
	err = loop.Run(ctx, in.Passes)
	var unsettled *stage.UnsettledError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &unsettled):
		r.noteUnsettled(unsettled)
	case err != nil:
		return nil, err
	}
	return r.results(ctx)
}

// run is one preview.
type run struct {
	Input
	session *simulation.Session
	parents []*progress
	// afterFirst are the results after the first pass over each parent, if they are asked for.
	afterFirst []*Result
	// wrote are the objects that were created and updated.
	wrote map[apply.Key]bool
}

// progress is how far one parent is.
type progress struct {
	object   *unstructured.Unstructured
	key      apply.Key
	answers  stage.Answers
	first    *simulation.Result
	last     simulation.Result
	writes   []*written
	byObject map[apply.Key]*written
	// passes counts those that wrote something.
	passes int
	// unsettled is why no more passes are made.
	unsettled string
	// lost is why an object that was deleted can't be created again.
	lost error
	gone bool
}

func newProgress(object *unstructured.Unstructured) *progress {
	return &progress{object: object, key: apply.KeyOf(object), byObject: map[apply.Key]*written{}}
}

// written is an object before the first and after the last write.
type written struct {
	key            apply.Key
	before, after  *unstructured.Unstructured
	desired        *unstructured.Unstructured // of the last pass that wanted it
	deleted        bool                       // by any of the writes
	passes         int                        // that wrote it
	statusPasses   int                        // that wrote its status
	passOf, status int                        // the last of these
}

// pass makes one pass over each parent that is not settled for good.
func (r *run) pass(ctx context.Context) (stage.PassResult, error) {
	moved := stage.Nothing
	for _, p := range r.parents {
		if p.gone || p.unsettled != "" {
			continue
		}
		result, err := r.session.Reconcile(ctx, p.object)
		if err != nil {
			return moved, err
		}
		movement := stage.PassResultOf(result)
		r.add(p, result, movement == stage.Written)
		moved = max(moved, movement)
	}
	if r.AfterFirst && r.afterFirst == nil {
		r.afterFirst = r.destroyed(ctx)
	}
	return moved, nil
}

// add notes the result of a pass over a parent.
func (r *run) add(p *progress, result simulation.Result, wrote bool) {
	if p.first == nil && r.Detailed {
		p.first = &result
	}
	p.answers.Add(result)
	p.last, p.gone = result, result.Parent == nil
	if !wrote {
		return
	}
	if p.passes++; p.passes > maxWrites {
		p.unsettled = fmt.Sprintf("it has not settled after %d passes that wrote something", maxWrites)
	}
	for _, write := range result.Writes {
		if write.Err == nil && !isBookkeeping(write.Kind.GroupKind()) {
			r.addWrite(p, write)
		}
	}
	for _, object := range result.Desired {
		if w := p.byObject[apply.KeyOf(object)]; w != nil {
			w.desired = object
			r.checkRecreation(p, w)
		}
	}
}

// checkRecreation notes that an object which was deleted to be created anew can't be. Otherwise that is seen in a later pass, if one is
// made.
func (r *run) checkRecreation(p *progress, w *written) {
	if there := w.after != nil && w.after.GetDeletionTimestamp() == nil; r.Passes == 0 || !w.deleted || there || p.lost != nil {
		return
	}
	if err := r.session.Cluster().CheckCreation(w.desired); err != nil {
		p.lost = fmt.Errorf("%s would be deleted, and could not be created again: %w", w.key, err)
	}
}

// addWrite notes a write that was made.
func (r *run) addWrite(p *progress, write memcluster.Write) {
	key := write.Key()
	w := p.byObject[key]
	if w == nil {
		w = &written{key: key, before: write.Before}
		p.writes, p.byObject[key] = append(p.writes, w), w
	}
	w.after = write.After
	w.deleted = w.deleted || write.Verb == memcluster.Delete
	r.wrote[key] = true
	count, last := &w.passes, &w.passOf
	if write.Verb == memcluster.UpdateStatus || write.Verb == memcluster.PatchStatus {
		count, last = &w.statusPasses, &w.status
	}
	if *last != p.passes {
		*count, *last = *count+1, p.passes
	}
	if w.passes > maxRewrites {
		p.unsettled = fmt.Sprintf("it does not settle: %s is written again in each of %d passes", key, maxRewrites)
	}
	// A status that never rests is as good as settled, if nothing else has changed for as long.
	if w.statusPasses > maxRewrites && p.onlyStatus(maxRewrites) {
		p.unsettled = endlessStatus
	}
}

// endlessStatus is why no more passes are made over a parent that is settled but for its status.
const endlessStatus = "its status changes in every pass"

// onlyStatus reports whether the last passes that wrote something wrote a status alone.
func (p *progress) onlyStatus(passes int) bool {
	for _, w := range p.writes {
		if w.passOf > p.passes-passes {
			return false
		}
	}
	return true
}

// isWritten selects the objects that become ready: what the definition wrote, unless it is a parent.
func (r *run) isWritten(object *unstructured.Unstructured) bool { return r.wrote[apply.KeyOf(object)] }

// noteUnsettled notes which parents did not settle.
func (r *run) noteUnsettled(unsettled *stage.UnsettledError) {
	for _, p := range r.parents {
		if p.unsettled == "" && !p.gone && stage.PassResultOf(p.last) != stage.Nothing {
			p.unsettled = unsettled.Message
		}
	}
}

// err returns why a parent fails, or nil.
func (p *progress) err() error {
	switch err := p.last.Err; {
	case err != nil && !errors.Is(err, controller.ErrLater):
		return err
	case p.lost != nil:
		return p.lost
	case p.unsettled != "" && p.unsettled != endlessStatus:
		return errors.New(p.unsettled)
	default:
		return nil
	}
}
