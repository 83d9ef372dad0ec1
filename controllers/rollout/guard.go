package rollout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// SettleTime is for how long what an edit deletes and recreates is counted, from when it serves.
const SettleTime = 10 * time.Minute

// Edit is what decides about the children of a definition.
type Edit struct {
	// SpecHash is the SHA-256 of the definition's spec, without spec.scriptRollout. Revision is the ID of the scripts, or empty without scripts.
	SpecHash, Revision string
}

// ID returns what an approval of the edit names, in 64 hexadecimal digits: the revision of the scripts if only these differ from what
// served before.
func (e Edit) ID(served Edit) string {
	if e.Revision != "" && e.SpecHash == served.SpecHash {
		return e.Revision
	}
	sum := sha256.Sum256([]byte(e.SpecHash + "/" + e.Revision))
	return hex.EncodeToString(sum[:])
}

// Census is how many children there are, of how many parents.
type Census struct {
	Children map[schema.GroupKind]int
	Parents  int
	// At is when they were counted.
	At time.Time
}

// Record is what a Guard needs of an earlier process.
type Record struct {
	// Settled is the edit whose deletions are not counted, and Edit the newest one, which serves since Since. They are equal once it has settled.
	Settled, Edit Edit
	Since         time.Time
	// Before is what there was before the first deletion that counts, or nil.
	Before *Census
}

// Guard bounds what an edit deletes and recreates of the children that there were before it, whatever a preview has told of it. Its methods
// may be called by several goroutines.
type Guard struct {
	clock clock.PassiveClock
	// census counts the children that are not being deleted and were created before a time, or all if that is zero.
	census func(createdBefore time.Time) Census
	// store makes a record outlive the process.
	store func(context.Context, Record) error
	// limits returns those of the definition, which may be nil.
	limits func() *v1alpha1.ScriptPreview
	// changed is called once an edit is held.
	changed func()

	mu       sync.Mutex
	record   Record
	approved Edit
	// lost are the children that count, and findings what they come to.
	lost     map[apply.Key]bool
	counted  map[destruction]map[apply.Key]bool
	findings *Findings
	// held is why heldEdit is held, or empty. superseded are the edits whose place another one has taken since what has settled.
	held       string
	heldEdit   Edit
	superseded map[Edit]bool
}

// NewGuard returns a Guard. record is what an earlier process has stored.
func NewGuard(
	clock clock.PassiveClock, record Record,
	census func(createdBefore time.Time) Census, store func(context.Context, Record) error,
	limits func() *v1alpha1.ScriptPreview, changed func(),
) *Guard {
	return &Guard{clock: clock, record: record, census: census, store: store, limits: limits, changed: changed}
}

// Loss is a child that is about to be deleted, or recreated.
type Loss struct {
	Parent, Child apply.Key
	Action        Action
}

// HeldError is why a child is not deleted.
type HeldError struct{ Message string }

func (e *HeldError) Error() string { return "it is not deleted, as the edit is held: " + e.Message }

// MayDelete returns nil if a pass of an edit may delete a child, a *HeldError if that exceeds the limits, or why that can't be recorded.
func (g *Guard) MayDelete(ctx context.Context, edit Edit, loss Loss) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isSettled(edit) {
		return nil
	}
	if edit != g.record.Edit && !g.superseded[edit] { // Otherwise it is a pass that began before.
		g.begin(edit)
	}
	switch {
	case g.lost[loss.Child]:
		return nil // It counts already.
	case g.held != "":
		return &HeldError{g.held}
	}
	if err := g.prepare(ctx); err != nil {
		return err
	}
	g.lost[loss.Child] = true
	g.findings.addDestroyed(&Batch{
		destroyed: map[apply.Key]Action{loss.Child: loss.Action}, owners: map[apply.Key]apply.Key{loss.Child: loss.Parent},
	}, g.counted)
	if g.held = g.findings.Held(guardRule(g.limits())); g.held == "" {
		return nil
	}
	delete(g.lost, loss.Child)
	g.heldEdit = edit
	g.held += fmt.Sprintf("; %d are gone, and no more are deleted", g.findings.countOf(anyKind, anyAction)-1)
	g.changed()
	return &HeldError{g.held}
}

// guardRule returns the rule for deletions: the limits of the definition for children, if it has some, or that for a sample.
func guardRule(limits *v1alpha1.ScriptPreview) Rule {
	if limits == nil || limits.MaxDeletedChildren == nil && limits.MaxRecreatedChildren == nil {
		return RuleOf(nil)
	}
	return RuleOf(limits)
}

// prepare makes sure that it is known, also after a restart, what there was before the first deletion.
func (g *Guard) prepare(ctx context.Context) error {
	if g.findings != nil {
		return nil
	}
	gone := map[schema.GroupKind]int{}
	record := g.record
	if record.Before == nil {
		record.Before = new(g.census(time.Time{}))
		record.Before.At = g.clock.Now()
		if err := g.store(ctx, record); err != nil {
			return fmt.Errorf("what the edit deletes can't be recorded in the definition's status: %w", err)
		}
		g.record = record
	} else { // An earlier process has deleted some.
		left := g.census(record.Before.At.Truncate(time.Second)) // What has come back since then does not replace what is gone.
		for kind, n := range record.Before.Children {
			gone[kind] = max(0, n-left.Children[kind])
		}
	}
	g.findings, g.lost, g.counted = NewFindings(), map[apply.Key]bool{}, map[destruction]map[apply.Key]bool{}
	g.findings.Known = record.Before.Parents
	for kind, n := range record.Before.Children {
		g.findings.children[kind] += n
		g.findings.children[anyKind] += n
		g.findings.addGone(kind, gone[kind])
	}
	return nil
}

// begin notes that another edit serves. What one before it has deleted that has not settled goes on counting.
func (g *Guard) begin(edit Edit) {
	switch g.record.Edit {
	case g.approved: // An approval counts until something else is edited.
		g.forget()
		g.approved = Edit{}
	case g.record.Settled:
		g.forget()
	}
	if g.superseded == nil {
		g.superseded = map[Edit]bool{}
	}
	g.superseded[g.record.Edit] = true
	delete(g.superseded, edit)
	g.record.Edit, g.record.Since, g.held = edit, g.clock.Now(), ""
}

// forget drops what has been counted.
func (g *Guard) forget() {
	g.record.Before, g.findings, g.lost, g.counted, g.held, g.superseded = nil, nil, nil, nil, "", nil
}

func (g *Guard) isSettled(edit Edit) bool { return edit == g.record.Settled || edit == g.approved }

// IsSettled reports whether what passes of an edit delete is not counted.
func (g *Guard) IsSettled(edit Edit) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.isSettled(edit)
}

// Serve notes which edit serves, or begins to. complete is set if it serves all parents.
func (g *Guard) Serve(edit Edit, complete bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if edit == g.record.Settled {
		return
	}
	if edit != g.record.Edit {
		g.begin(edit)
	}
	if complete && g.held == "" && g.clock.Since(g.record.Since) >= SettleTime {
		g.settle(edit)
	}
}

func (g *Guard) settle(edit Edit) {
	g.forget()
	g.record.Settled, g.record.Edit = edit, edit
}

// Begin notes what serves when parents begin to be synced: the first edit of a definition whose parents have no children can delete none.
func (g *Guard) Begin(edit Edit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.record.Settled == (Edit{}) && g.record.Before == nil && len(g.census(time.Time{}).Children) == 0 {
		g.settle(edit)
	}
}

// Replace notes that somebody has chosen that an edit serves in the place of the one that does, which may be the one that served before:
// what that deletes counts then, too.
func (g *Guard) Replace(serving, edit Edit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if edit == g.record.Settled && edit != serving {
		g.settle(serving)
		g.begin(edit)
	}
}

// Approve lets an edit delete whatever it does.
func (g *Guard) Approve(edit Edit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.approved = edit; g.heldEdit == edit {
		g.held = ""
	}
}

// Held returns the edit that is held, what served before it, and why. The text is empty if none is.
func (g *Guard) Held() (edit, settled Edit, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.heldEdit, g.record.Settled, g.held
}

// Record returns what the next process needs.
func (g *Guard) Record() Record {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.record
}
