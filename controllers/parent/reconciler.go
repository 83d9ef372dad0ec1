// Package parent is the reconciler of all kinds of definition. It observes a parent and its
// children, calls the hooks for the desired state, applies the difference and writes the
// status. Composites, decorators and maps differ only in their Variant, three pure functions.
package parent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/health"
	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/parent/samples"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/parent/statuses"
	"github.com/libretto-k8s/libretto/controllers/parent/waiters"
	"github.com/libretto-k8s/libretto/controllers/parent/writes"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

// Config is one definition, resolved and ready to run.
type Config struct {
	// Definition is the name in logs and errors, such as "CompositeController catset".
	Definition string
	// Account makes the requests of the definition.
	Account  identity.Account
	Variant  variant.Variant
	Parents  []variant.ParentRule
	Children []variant.ChildRule
	// Managers are the field managers for server-side apply of children.
	Managers serverside.Managers
	// Inputs are the resources that a map makes outputs of. Only maps have any.
	Inputs []variant.InputRule
	// Revisions is the resource of ControllerRevisions, or nil if the definition rolls nothing
	// out.
	Revisions *discovery.Resource
	// ScriptRevisions returns the IDs of the revisions of the scripts that ControllerRevisions name. Nil means that none does.
	ScriptRevisions func(all []*unstructured.Unstructured) []string
	// OwnRevisions filters a parent's ControllerRevisions for those of this definition, as other
	// definitions may roll out its children too. Nil means all.
	OwnRevisions func(all []*unstructured.Unstructured) []*unstructured.Unstructured
	Finalizing   Finalizing
	// Spec is the hash of the definition's spec, for what is noted of syncs.
	Spec string
	// Guard bounds what edits delete. Nil, as offline, means that nothing does.
	Guard DeletionGuard
	// RollsScripts reports whether edits of the scripts reach the children of a kind one after another. Nil means that none does.
	RollsScripts func(kind schema.GroupVersionKind) bool
	// StatusWithObject makes a parent without a status subresource have its status written with
	// the object. Otherwise no status is written.
	StatusWithObject bool
	// Customize configures the customize hook, or is nil if there is none.
	Customize *related.Customize
	// Selector returns what a parent selects: orphans to adopt, or inputs. It is nil if parents
	// select nothing. SelectorIndex names the index of parents by selector, and is empty if
	// Selector is nil. Definitions with the same kind of selector share a name.
	Selector      func(parent *unstructured.Unstructured) (labels.Selector, error)
	SelectorIndex string
	// Programs returns the loaded programs for a parent. A pass calls it once, so that it never
	// mixes two revisions.
	Programs func(parent *unstructured.Unstructured) Programs
	// ProgramsOf returns the programs of another revision of the scripts, for children that were made by it. While they are being loaded
	// it returns ErrProgramsLoading, and the pass is postponed; any other error says why they can't be had. Nil means that there are no
	// others.
	ProgramsOf func(revision string) (Programs, error)
	// Timeouts limit one call, by hook.
	Timeouts map[string]time.Duration
	// ResyncPeriod is how often every parent is synced without a change. Zero means never.
	ResyncPeriod time.Duration
	// ResumedAt is when an earlier process that ran the definition as it is was replaced, or zero if none is known.
	ResumedAt time.Time
	// Changed is called when the definition's own status may be out of date: a parent came or
	// went, or a hook is paused. It must return soon.
	Changed func()
}

// Environment is what all definitions of a process share.
type Environment struct {
	Client dynamic.Interface
	// Children writes children. Its answers to creations, updates and applies may be the metadata of the objects alone: their
	// contents are awaited then. Nil means Client.
	Children dynamic.Interface
	// Access tells whether children that are deleted to be made again may be created. Nil, as offline, means that they may.
	Access *access.Reviewer
	// Metadata lists and patches parents of a removed definition. Only Release needs it.
	Metadata metadata.Interface
	Pool     *informer.Pool
	// Events emits the events that are rare and must not be lost, such as of hot loops. The next three have queues and limits of their own,
	// so that they don't crowd out these, also not those of many definitions together.
	Events record.EventRecorder
	// SyncEvents emits what syncs report: when a parent begins to fail and ceases to. Nil means Events.
	SyncEvents record.EventRecorder
	// ChildEvents emits the creations and deletions of children. Nil means that these have no events.
	ChildEvents record.EventRecorder
	// HookEvents emits the events that hooks ask for. Nil means Events.
	HookEvents record.EventRecorder
	// RolloutEvents emits that edits of scripts are held. Nil means Events.
	RolloutEvents record.EventRecorder
	// EventLimits are those of Events on one object. Zero means DefaultEventLimits.
	EventLimits notices.EventLimits
	// Schemas returns how the API server merges children. If it is nil or knows no schema, lists
	// are merged by well-known field names.
	Schemas *openapi.Source
	Clock   clock.WithTicker
	Log     logr.Logger
	// Metrics may be nil.
	Metrics *Metrics
	// Registry may be nil: definitions then do not know of each other.
	Registry *Registry
	// Writes and Calls limit the concurrent writes and hook calls for one parent.
	Writes, Calls int
	// Answers keeps the answers of hooks that can be reused. Nil means that each definition has
	// DefaultAnswerCacheBytes for its own.
	Answers *lru.Cache
	// PassAnswerBytes bounds the memory of all answers that one pass holds. Zero means
	// DefaultPassAnswerBytes.
	PassAnswerBytes int64
	// StatusDelay is how long the status of a parent whose children are written may be left to its next
	// pass. Zero means that it is written at once.
	StatusDelay time.Duration
}

// DefaultAnswerCacheBytes is how much memory the kept answers of a process may take, and
// DefaultPassAnswerBytes how much those may that one pass holds, unless Environment says otherwise.
const DefaultAnswerCacheBytes, DefaultPassAnswerBytes = 128 << 20, 128 << 20

func (e *Environment) maxAnswerBytes() int {
	if e.PassAnswerBytes <= 0 {
		return DefaultPassAnswerBytes
	}
	return int(e.PassAnswerBytes)
}

// Reconciler reconciles the parents of one definition.
type Reconciler struct {
	*shared
}

// shared is what all passes of a definition have in common: its configuration, its caches
// and what is remembered between passes, in memory only.
type shared struct {
	config Config
	env    Environment
	// sources are the resources of the definition.
	sources sources.Sources

	// By child.
	pendingWrites *writes.Pending
	history       *writes.History
	detector      *loops.Detector
	// By parent.
	passCache        *answers.Cache
	related          *related.Index
	creationWaiters  *waiters.Creations
	namespaceWaiters *waiters.Namespaces
	resyncs          *loops.RateLimiter[controller.Key] // that come soon after the last sync
	leftStatuses     *statuses.Left
	finalizeWaits    *finalizeWaits
	waits            *health.Waits
	states           *health.States
	replaced         atomic.Bool // Another reconciler has the states.
	hookEvents       *notices.HookEvents
	problems         *notices.Problems
	status           *statuses.Writer
	outdated         *outdatedChildren
	lastSyncs        *health.LastSyncs
	requests         *requests
	previewCaches    *samples.Caches
	// By definition.
	droppedFields  *notices.DroppedFields
	sharedChildren *notices.SharedChildren
}

// ownManager is the field manager of all writes except server-side apply.
const ownManager = "libretto"

// FormerManagers returns the field managers that may have written children before server-side
// apply: this program and metacontroller.
func FormerManagers() []string { return []string{ownManager, "metacontroller"} }

// New returns the reconciler of a definition and opens the caches that it needs. The caller must
// close it.
func New(config Config, env Environment) (*Reconciler, error) {
	if env.Answers == nil {
		env.Answers = lru.New(DefaultAnswerCacheBytes)
	}
	if env.SyncEvents == nil {
		env.SyncEvents = env.Events
	}
	if env.HookEvents == nil {
		env.HookEvents = env.Events
	}
	if env.Children == nil {
		env.Children = env.Client
	}
	r := &Reconciler{&shared{
		config: config, env: env,
		pendingWrites: writes.NewPending(env.Clock), history: writes.NewHistory(env.Clock), detector: loops.NewDetector(env.Clock),
		passCache: answers.NewCache(env.Answers, config.Definition), related: related.NewIndex(env.Pool), creationWaiters: waiters.NewCreations(),
		namespaceWaiters: waiters.NewNamespaces(env.Pool), resyncs: loops.NewRateLimiter[controller.Key](env.Clock, shortResyncs, resyncInterval),
		finalizeWaits: newFinalizeWaits(env.Clock), waits: health.NewWaits(), states: health.NewStates(env.Clock),
		hookEvents: notices.NewHookEvents(env.Clock, env.EventLimits, config.ResumedAt),
		status:     statuses.NewWriter(env.Client, env.Schemas, env.Clock), droppedFields: notices.NewDroppedFields(),
		leftStatuses: statuses.NewLeft(), problems: notices.NewProblems(env.Clock, env.EventLimits), outdated: newOutdatedChildren(),
		sharedChildren: notices.NewSharedChildren(), lastSyncs: health.NewLastSyncs(env.Clock), requests: newRequests(),
		previewCaches: samples.NewCaches(env.Pool, env.Clock),
	}}
	r.pendingWrites.Completed = r.history.Note
	r.sources = sources.Open(env.Pool, sources.Config{
		Parents: config.Parents, Finalizer: config.Finalizing.Name, Children: config.Children, Managers: config.Managers, Inputs: config.Inputs,
		Revisions: config.Revisions,
	})
	if err := r.indexParents(); err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", config.Definition, err)
	}
	return r, nil
}

// Close closes the caches. No pass may be running.
func (r *Reconciler) Close() {
	r.sources.Close()
	r.related.Close()
	r.previewCaches.Close()
	r.namespaceWaiters.Close()
	r.pendingWrites.Close()
	r.passCache.Close()
	r.env.Registry.remove(r)
}

// WaitForSync waits until all caches are synced. It returns false if ctx ends before.
func (r *Reconciler) WaitForSync(ctx context.Context) bool { return r.sources.WaitForSync(ctx) }

// Err returns why a resource cannot be read at present, or nil.
func (r *Reconciler) Err() error { return cmp.Or(r.sources.Err(), r.related.Err()) }

// Succeed takes over what former, which runs an earlier spec of the definition, remembers of the answers of hooks: what they wait for, and
// which events they asked for, which problems were reported, within limits that an edit does not renew, and since when parents fail. It is
// called before Watch, and RetainParents once the caches are synced.
func (r *Reconciler) Succeed(former *Reconciler) {
	r.Join(former)
	former.Replaced()
}

// Join shares all that with other, which goes on to sync some of the parents. No parent may be in a pass of both. It is called before
// Watch.
func (r *Reconciler) Join(other *Reconciler) {
	r.waits, r.states, r.hookEvents, r.problems = other.waits, other.states, other.hookEvents, other.problems
	r.lastSyncs, r.requests = other.lastSyncs, other.requests
}

// Replaced notes that all parents are those of another reconciler that shares what this one remembers.
func (r *Reconciler) Replaced() { r.replaced.Store(true) }

// RetainParents drops what Succeed took over about objects that are no longer parents of the definition, and notes that all parents are
// about to be synced. It is called once the caches are synced, before the queue is processed.
func (r *Reconciler) RetainParents() {
	isParent := func(key controller.Key) bool {
		parent, _ := r.find(key)
		return parent != nil
	}
	r.waits.Retain(isParent)
	r.hookEvents.Retain(isParent)
	r.problems.Retain(isParent)
	r.states.Begin(r.parentKeys())
}

// parentKeys returns the keys of all parents.
func (r *Reconciler) parentKeys() []controller.Key {
	var parents []controller.Key
	r.sources.EachParent(func(source *sources.Parent, parent *unstructured.Unstructured) {
		parents = append(parents, keyOf(source.Kind, parent))
	})
	return parents
}

// Reconcile syncs one parent.
func (r *Reconciler) Reconcile(ctx context.Context, key controller.Key) (controller.Result, error) {
	ctx = identity.WithAccount(ctx, r.config.Account)
	parent, source := r.find(key)
	if parent == nil {
		r.forget(key)
		return controller.Result{}, nil
	}
	delay, err := r.syncContents(ctx, parent)
	if delay > 0 {
		return controller.Result{RequeueAfter: delay, Unfinished: true}, nil
	}
	if err == nil {
		err = r.guardRelease(ctx, key, parent, source)
	}
	updated := parent
	if err == nil {
		updated, err = r.syncFinalizer(ctx, parent, source)
	}
	result, end := controller.Result{Retry: failure.RetryOf(err, false)}, health.End{}
	if err == nil {
		parent, err = updated, ctx.Err() // Begin nothing after the finalizer.
	}
	if err == nil {
		p := &pass{
			shared: r.shared, key: key, source: source, parent: parent,
			programs: r.config.Programs(parent), otherManagers: map[apply.Key]string{},
		}
		if result, err = p.run(ctx); err == nil {
			result = p.awaitFinalized(result)
			p.noteRequest()
		}
		result = p.awaitContents(result)
		p.awaitNamespaces(ctx)
		p.logConsole(err != nil)
		p.logEnd(result, err)
		end = p.end(err)
		if ctx.Err() == nil && (err != nil || !result.Unfinished) {
			p.noteSync(result.Retry, err)
		}
	} else {
		end.Edit = r.editOf(r.config.Programs(parent).Revision)
	}
	if errors.Is(err, errGone) {
		return controller.Result{}, nil
	}
	err = shorten(err)
	if ctx.Err() == nil {
		r.noteEnd(key, parent, end, result, err)
	}
	return result, err
}

// noteEnd notes how a pass end, for the status of the definition and for events. One that end early without an error says nothing.
func (r *Reconciler) noteEnd(key controller.Key, parent *unstructured.Unstructured, end health.End, result controller.Result, err error) {
	if err == nil && result.Unfinished {
		return
	}
	r.noteState(key, parent, end, err)
	r.report(key, parent, err)
}

// Expire drops state that is kept only for some minutes after a write or an event, and logs how many events were dropped. The caller
// calls it at least every minute, also if no parent is reconciled.
func (r *Reconciler) Expire() {
	r.previewCaches.Expire()
	r.detector.Expire()
	r.problems.Expire()
	r.reportRecovered()
	r.logDroppedEvents()
}

// forget drops the state of a deleted parent.
func (r *Reconciler) forget(key controller.Key) {
	outdated := r.leave(key)
	r.hookEvents.Forget(key)
	r.waits.Forget(key)
	r.problems.Forget(key)
	r.lastSyncs.Forget(key)
	if r.requests.forget(key); r.config.Guard != nil {
		r.config.Guard.Synced(key)
	}
	if known := r.states.Forget(key); known || outdated {
		r.config.Changed()
	}
}

// Leave drops what is known of a parent that another reconciler syncs, but for what both share.
func (r *Reconciler) Leave(key controller.Key) { r.leave(key) }

func (r *Reconciler) leave(key controller.Key) (outdated bool) {
	r.status.Forget(key)
	r.passCache.Forget(key)
	r.resyncs.Forget(key)
	r.leftStatuses.Forget(key)
	r.related.Forget(key)
	r.namespaceWaiters.Forget(key)
	r.finalizeWaits.forget(key)
	return r.outdated.forget(key)
}
