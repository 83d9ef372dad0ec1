package parent

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/controllers/parent/metrics"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/peers"
	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/access"
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
	// Revisions configures what is rolled out to children one after another.
	Revisions  Revisions
	Finalizing Finalizing
	// Spec is the hash of the definition's spec, for what is noted of syncs.
	Spec string
	// Guard bounds what edits delete. Nil, as offline, means that nothing does.
	Guard DeletionGuard
	// Status is what is written of the status of parents.
	Status StatusWrites
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

// StatusWrites is what is written of the status of parents.
type StatusWrites struct {
	// WithObject makes a parent without a status subresource have its status written with the object. Otherwise none is written.
	WithObject bool
	// Conditions adds the conditions of a sync, unless the hooks return some of them.
	Conditions bool
}

// Revisions configures the ControllerRevisions of a definition's parents.
type Revisions struct {
	// Resource is that of ControllerRevisions, or nil if the definition rolls nothing out.
	Resource *discovery.Resource
	// Own filters a parent's ControllerRevisions for those of this definition, as other definitions may roll out its children too. Nil
	// means all.
	Own func(all []*unstructured.Unstructured) []*unstructured.Unstructured
	// Scripts returns the IDs of the revisions of the scripts that ControllerRevisions name. Nil means that none does.
	Scripts func(all []*unstructured.Unstructured) []string
	// RollsScripts reports whether edits of the scripts reach the children of a kind one after another. Nil means that none does.
	RollsScripts func(kind schema.GroupVersionKind) bool
	// ProgramsOf returns the programs of another revision of the scripts, for children that were made by it. While they are being loaded
	// it returns ErrProgramsLoading, and the pass is postponed; any other error says why they can't be had. Nil means that there are no
	// others.
	ProgramsOf func(revision string) (Programs, error)
}

// Environment is what all definitions of a process share.
type Environment struct {
	Client dynamic.Interface
	// Children writes children. Its answers to creations, updates and applies may be the metadata of the objects alone: their
	// contents are awaited then. Nil means Client.
	Children dynamic.Interface
	// Access tells whether children that are deleted to be made again may be created. Nil, as offline, means that they may.
	Access *access.Reviewer
	// Reads tells whether the account of a definition may read what hooks would be shown. Nil, as offline, means that it may.
	Reads *access.Reviewer
	// Metadata lists and patches parents of a removed definition. Only Release needs it.
	Metadata metadata.Interface
	// Pool has the caches. If it is of a shard, the parents are those of its namespaces.
	Pool *informer.Pool
	// Follows is set in a shard that does not own the definition: parents without a namespace are those of the one that does.
	Follows bool
	// Namespace is that of all parents, which In sets, or empty for parents of all namespaces.
	Namespace string
	// Events emit the events.
	Events Recorders
	// Schemas returns how the API server merges children. If it is nil or knows no schema, lists
	// are merged by well-known field names.
	Schemas *openapi.Source
	Clock   clock.WithTicker
	Log     logr.Logger
	// Metrics may be nil.
	Metrics *metrics.Metrics
	// Tracer starts the spans of syncs. Nil means that they have none.
	Tracer trace.Tracer
	// Registry may be nil: definitions then do not know of each other.
	Registry *peers.Registry
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

// In returns the environment of a definition with a namespace and an account, which has nothing of others, or env itself if namespace is
// empty.
func (e Environment) In(namespace string, account identity.Account) Environment {
	if namespace != "" {
		e.Namespace, e.Pool = namespace, e.Pool.In(namespace).ReadSecretsAs(account)
	}
	return e
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

// Recorders emit events. Each has a queue and limits of its own, so that the events that are many don't crowd out the others, also not
// those of many definitions together.
type Recorders struct {
	// Rare emits the events that are rare and must not be lost, such as of hot loops.
	Rare record.EventRecorder
	// Syncs emits what syncs report: when a parent begins to fail and ceases to. Nil means Rare.
	Syncs record.EventRecorder
	// Children emits the creations and deletions of children. Nil means that these have no events.
	Children record.EventRecorder
	// Hooks emits the events that hooks ask for. Nil means Rare.
	Hooks record.EventRecorder
	// Rollouts emits that edits of scripts are held. Nil means Rare.
	Rollouts record.EventRecorder
	// Limits are those of Rare on one object. Zero means DefaultEventLimits.
	Limits notices.EventLimits
}

// withDefaults returns env with what it leaves out.
func (e Environment) withDefaults() Environment {
	if e.Answers == nil {
		e.Answers = lru.New(DefaultAnswerCacheBytes)
	}
	if e.Events.Syncs == nil {
		e.Events.Syncs = e.Events.Rare
	}
	if e.Events.Hooks == nil {
		e.Events.Hooks = e.Events.Rare
	}
	if e.Children == nil {
		e.Children = e.Client
	}
	return e
}

// Observer is told what syncs do, for an author who looks on. Its methods are called by many goroutines at once, and what they are given is
// read-only.
type Observer interface {
	// Begin is called before a sync of a parent by a definition. The calls and the requests of the sync have the context that it returns.
	Begin(ctx context.Context, definition string, parent *unstructured.Unstructured) context.Context
	// Called is called after each call of a hook.
	Called(ctx context.Context, hook string, call engines.Call, response engines.Response, err error)
	// End is called after the sync.
	End(ctx context.Context, err error)
}

type observerKey struct{}

// WithObserver returns a context whose syncs are observed, or are not if observer is nil.
func WithObserver(ctx context.Context, observer Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, observer)
}

// observerOf returns the observer of a context, or nil.
func observerOf(ctx context.Context) Observer {
	observer, _ := ctx.Value(observerKey{}).(Observer)
	return observer
}
