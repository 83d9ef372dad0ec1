package definition

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/definition/reports"
	"github.com/libretto-k8s/libretto/controllers/definition/status"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

// shards are what one definition is to a Reconciler that hosts a shard. One shard owns the definition: it alone loads edits, previews them,
// decides which parents get them, and writes the status. The others follow: they do what the status says, and report.
type shards struct {
	// here is the shard if others have parents of the definition, too, and follows is set if another one owns it. They never change.
	here    shard.Range
	follows bool
	// others are the last reports of the shards that follow, by index, and missing are those that have not reported.
	others  []otherShard
	missing []shard.Range
	// scripts are the revisions by which these have made children. Nil means that no other shard has any. Any goroutine may read it.
	scripts atomic.Pointer[scriptsElsewhere]

	// mu is held while a report is written.
	mu         sync.Mutex
	reported   *reports.Report
	reportedAt time.Time
	// guards counts the records of the guard that were stored.
	guards int
}

// otherShard is the report of a shard.
type otherShard struct {
	shard.Range
	*reports.Report
}

// shardName returns what a shard is called in messages.
func shardName(of shard.Range) string { return "shard " + of.String() }

// scriptsElsewhere are revisions by which children of other shards were made, all of them if known is set.
type scriptsElsewhere struct {
	ids   []string
	known bool
}

// hosts reports whether a definition has parents in the shard.
func (r *Reconciler) hosts(key controller.Key) bool {
	return key.Namespace == "" || r.config.Shard.Contains(key.Namespace)
}

// follows reports whether another shard owns a definition.
func (r *Reconciler) follows(key controller.Key) bool {
	return key.Namespace == "" && !r.config.Shard.Owns(key.String())
}

// isShared reports whether a definition has parents in several shards.
func (r *Reconciler) isShared(key controller.Key) bool {
	return key.Namespace == "" && !r.config.Shard.IsWhole()
}

// enqueueReported enqueues the definition that a report is about, if this shard owns it.
func (r *Reconciler) enqueueReported(definition string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cache := range r.kinds {
		for _, object := range cache.List() {
			if key := apply.KeyOf(object); key.String() == definition && !r.follows(key) {
				r.queue.Enqueue(key)
			}
		}
	}
}

// gatherReports notes what the other shards report about a definition. It returns the definition as this shard has to see it.
func (r *Reconciler) gatherReports(key controller.Key, s *runtimeState, object *unstructured.Unstructured) *unstructured.Unstructured {
	if !r.isShared(key) {
		return object
	}
	all := r.config.Shard.Reports.Of(key, r.config.Shard.Count)
	if s.shards.follows {
		return withGuard(object, all[r.config.Shard.Index])
	}
	s.shards.others, s.shards.missing = nil, nil
	elsewhere := &scriptsElsewhere{known: true}
	for i := range r.config.Shard.Count {
		of, report := shard.Range{Index: i, Count: r.config.Shard.Count}, all[i]
		switch {
		case i == r.config.Shard.Index:
		case report == nil:
			s.shards.missing, elsewhere.known = append(s.shards.missing, of), false
		default:
			s.shards.others = append(s.shards.others, otherShard{of, report})
			elsewhere.ids, elsewhere.known = append(elsewhere.ids, report.Scripts...), elsewhere.known && report.ScriptsKnown
		}
	}
	s.shards.scripts.Store(elsewhere)
	return object
}

// syncOfAllShards is how long a preview, or a check of a step, waits for the caches of all shards.
const syncOfAllShards = time.Minute

// waitForShards waits until the caches of what has the parents of all shards are synced.
func waitForShards(ctx context.Context, of *parent.Reconciler) error {
	ctx, cancel := context.WithTimeout(ctx, syncOfAllShards)
	defer cancel()
	if !of.WaitForSync(ctx) {
		return fmt.Errorf("the parents and children of all shards could not be read within %s", syncOfAllShards)
	}
	return nil
}

// withGuard returns a definition whose status has the record of this shard's guard, in the place of the owner's.
func withGuard(object *unstructured.Unstructured, own *reports.Report) *unstructured.Unstructured {
	object = object.DeepCopy()
	unstructured.RemoveNestedField(object.Object, "status", "deletionGuard")
	if own == nil || own.Guard == nil {
		return object
	}
	if guard, err := runtime.DefaultUnstructuredConverter.ToUnstructured(own.Guard); err == nil {
		_ = unstructured.SetNestedMap(object.Object, guard, "status", "deletionGuard") // The status is an object.
	}
	return object
}

// isDecided reports whether the owner of a definition has decided which spec serves, and the status has that.
func isDecided(object *unstructured.Unstructured) bool {
	stored := v1alpha1.StoredStatus(object)
	ready := meta.FindStatusCondition(stored.Conditions, v1alpha1.ConditionReady)
	if ready == nil || stored.ObservedGeneration != object.GetGeneration() {
		return false
	}
	switch ready.Reason {
	case reasonNotAccepted, reasonScriptsNotReady, reasonNotHosted:
		return false
	case reasonCredentialsNotReady:
		return ready.Status == metav1.ConditionTrue
	case reasonEarlierSpec: // It is too long for the status, otherwise.
		return stored.ScriptRollout != nil && stored.ScriptRollout.StableSpec != nil
	}
	return true
}

// followRollout returns the state that the owner of the definition has decided.
func (s *runtimeState) followRollout(object *unstructured.Unstructured) rollout.Progress {
	state := s.rolloutState(object)
	return rollout.Progress{Managed: s.running != nil && s.isManaged(s.running, object), Next: state, Serving: s.stableScripts(&state)}
}

// parents returns the parents of other shards, and whether all of them are known.
func (s *shards) parents() (all []rollout.Parent, known bool) {
	for _, report := range s.others {
		if report.Summary == nil || len(report.Parents) < int(report.Summary.Parents) {
			return nil, false
		}
		for _, p := range report.Parents {
			all = append(all, p.Rollout())
		}
	}
	return all, len(s.missing) == 0
}

// exceeded returns an edit that the guard of another shard holds and that can be taken back, or nothing. What it says about an edit that
// serves no more is old.
func (s *shards) exceeded(state *rollout.State) rollout.Exceeded {
	for _, other := range s.others {
		over := other.Hold.Exceeded
		if over.Revision != "" && (over.Revision == state.UpdatedRevision || over.Revision == state.StableRevision) {
			over.Message = shardName(other.Range) + ": " + over.Message
			return over
		}
	}
	return rollout.Exceeded{}
}

// hold returns what the guard of another shard holds and can't be taken back, or nothing.
func (s *shards) hold() (id, message string) {
	for _, other := range s.others {
		if hold := other.Hold; hold.ID != "" {
			return hold.ID, shardName(other.Range) + ": " + hold.Message
		}
	}
	return "", ""
}

// removed adds the warnings of other shards about what the spec no longer manages to those of this one, which may have them from before a
// restart.
func (s *shards) removed(all []plan.Warning) []plan.Warning {
	all = slices.Clip(all)
	for _, other := range s.others {
		for _, w := range other.Removed {
			if w.Message = shardName(other.Range) + ": " + w.Message; !strings.Contains(plan.Messages(all), w.Message) {
				all = append(all, w)
			}
		}
	}
	return all
}

// addTo adds the parents of other shards to what the status says of them.
func (s *shards) addTo(parents status.Parents) status.Parents {
	if len(s.others)+len(s.missing) == 0 || parents.Summary == nil {
		return parents
	}
	summary := *parents.Summary
	for _, other := range s.others {
		if other.Summary != nil {
			summary.Add(*other.Summary)
		} else {
			parents.Keep = true
		}
	}
	parents.Keep = parents.Keep || len(s.missing) > 0
	parents.Summary = &summary
	return parents
}

// reasonShardsNotReady is the reason of the condition Ready of a definition whose owner is ready, and another shard is not. It is one of
// its own: the others wait for an owner that is ready.
const reasonShardsNotReady = "ShardsNotReady"

// addToReady returns the condition Ready of a definition with what keeps other shards from being ready.
func (s *shards) addToReady(c metav1.Condition) metav1.Condition {
	if c.Status != metav1.ConditionTrue {
		return c
	}
	if len(s.missing) > 0 {
		var names []string
		for _, of := range s.missing {
			names = append(names, shardName(of))
		}
		c.Status, c.Reason = metav1.ConditionFalse, reasonShardsNotReady
		c.Message = "the parents of all shards are synced but those of " + strings.Join(names, ", ") +
			", which have not reported: see who holds them by kubectl get leases"
		return c
	}
	for _, other := range s.others {
		if ready := other.Ready; ready.Status != metav1.ConditionTrue {
			c.Status, c.Reason = metav1.ConditionFalse, reasonShardsNotReady
			c.Message = fmt.Sprintf("%s: %s: %s", shardName(other.Range), ready.Reason, ready.Message)
			return c
		}
	}
	return c
}

// report tells the owner of a definition how it is in this shard. It returns after how long to do so again, or zero.
func (r *Reconciler) report(
	ctx context.Context, key controller.Key, object *unstructured.Unstructured, s *runtimeState, view statusView,
) (again time.Duration, err error) {
	for {
		s.shards.mu.Lock()
		guards := s.shards.guards
		s.shards.mu.Unlock()
		next := r.newReport(object, s, view)
		s.shards.mu.Lock()
		if guards == s.shards.guards { // Otherwise the record may be another one.
			again, err = r.sendReport(ctx, key, s, next, v1alpha1.StoredStatus(object))
			s.shards.mu.Unlock()
			return again, err
		}
		s.shards.mu.Unlock()
	}
}

// rolloutReports is the time between two looks at the parents of a shard while an edit is rolled out: nothing else tells of children that
// are lost.
const rolloutReports = time.Second

// sendReport writes a report if it has changed. While no edit is rolled out, what it says of parents may wait. It returns after how long
// to do so again, or zero. The caller holds mu.
func (r *Reconciler) sendReport(
	ctx context.Context, key controller.Key, s *runtimeState, next *reports.Report, stored v1alpha1.DefinitionStatus,
) (time.Duration, error) {
	now, last, again := r.config.Environment.Clock.Now(), s.shards.reported, time.Duration(0)
	rollsOut := stored.ScriptRollout != nil && stored.ScriptRollout.UpdatedRevision != ""
	if rollsOut {
		again = rolloutReports
	}
	if last != nil {
		if last.Equal(next) {
			return again, nil
		}
		onlyParents := *next
		onlyParents.Summary, onlyParents.Parents, onlyParents.Scripts = last.Summary, last.Parents, last.Scripts
		wait := s.shards.reportedAt.Add(status.ParentsInterval).Sub(now)
		if wait > 0 && !rollsOut && last.Equal(&onlyParents) {
			return wait, nil
		}
	}
	if err := r.config.Shard.Reports.Write(ctx, key, r.config.Shard.Range, next); err != nil {
		return 0, err
	}
	s.shards.reported, s.shards.reportedAt = next, now
	return again, nil
}

// newReport returns the report about a definition.
func (r *Reconciler) newReport(object *unstructured.Unstructured, s *runtimeState, view statusView) *reports.Report {
	next := &reports.Report{
		Ready: followedReady(s, view), Summary: view.running.parents.Summary, ScriptsKnown: true, Removed: s.standing.removed,
	}
	if s.guard != nil {
		next.Guard = s.guard.Record().Status()
		next.Hold.ID, next.Hold.Message = s.guardHold()
		next.Hold.Exceeded = s.exceededBy(s.running)
	}
	if s.running == nil {
		return next
	}
	if problem := s.running.hooks.Problem(); problem != "" {
		next.Ready.Status, next.Ready.Reason, next.Ready.Message = metav1.ConditionFalse, reasonScriptsNotReady, problem
	}
	for _, i := range s.all() {
		ids, known := i.reconciler.ScriptRevisions()
		next.Scripts, next.ScriptsKnown = append(next.Scripts, ids...), next.ScriptsKnown && known
	}
	slices.Sort(next.Scripts)
	next.Scripts = slices.Compact(next.Scripts)
	if rollout.IsManaged(s.rollout, v1alpha1.StoredStatus(object).ScriptRollout) && s.running.synced.Load() {
		keys := labelsOfSteps(s.rollout)
		for _, p := range r.rolloutParents(s, s.rolloutState(object)) {
			next.Parents = append(next.Parents, reports.ParentOf(p, keys))
		}
		slices.SortFunc(next.Parents, func(a, b reports.Parent) int { return strings.Compare(a.Name, b.Name) })
	}
	return next
}

// followedReady returns whether parents are synced by what the owner has decided. What the newest spec and its scripts are like is for
// the owner to say.
func followedReady(s *runtimeState, v statusView) metav1.Condition {
	v.newest, v.hold, v.warnings = newestView{credentials: v.newest.credentials}, holdView{}, nil
	c := readyCondition(s, nil, v)
	if c.Reason == reasonEarlierSpec {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, reasonRunning, "parents are synced"
	}
	return c
}

// labelsOfSteps returns the labels that the selectors of steps look at.
func labelsOfSteps(spec *v1alpha1.ScriptRollout) (keys []string) {
	for _, step := range ptr.Deref(spec, v1alpha1.ScriptRollout{}).Steps {
		selector, err := metav1.LabelSelectorAsSelector(step.Selector)
		if step.Selector == nil || err != nil {
			continue
		}
		requirements, _ := selector.Requirements()
		for i := range requirements {
			keys = append(keys, requirements[i].Key())
		}
	}
	return keys
}

// storeReportedGuard stores a record of the guard of a shard that follows.
func (r *Reconciler) storeReportedGuard(ctx context.Context, key controller.Key, s *runtimeState, record rollout.Record) error {
	s.shards.mu.Lock()
	defer s.shards.mu.Unlock()
	next := reports.Report{Ready: metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonStarting}}
	if s.shards.reported != nil {
		next = *s.shards.reported
	}
	next.Guard = record.Status()
	if err := r.config.Shard.Reports.Write(ctx, key, r.config.Shard.Range, &next); err != nil {
		return err
	}
	s.shards.reported = &next
	s.shards.guards++
	return nil
}

// forgetReports deletes the reports about a definition that is gone.
func (r *Reconciler) forgetReports(ctx context.Context, key controller.Key) error {
	switch {
	case !r.isShared(key):
		return nil
	case r.follows(key): // The owner does not know of one that is written just now.
		return r.config.Shard.Reports.Delete(ctx, key, r.config.Shard.Range)
	default:
		return r.config.Shard.Reports.DeleteAll(ctx, key)
	}
}
