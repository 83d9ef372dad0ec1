package rollout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"
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
	// SpecHash is the SHA-256 of the definition's spec, without what is for the host alone. Revision is the ID of the scripts, or empty
	// without scripts.
	SpecHash, Revision string
}

// ID returns what an approval of the edit names, in 64 hexadecimal digits: the revision of the scripts if only these differ from what
// served before.
func (e Edit) ID(served Edit) string {
	if e.Revision != "" && e.SpecHash == served.SpecHash {
		return e.Revision
	}
	return hashOf(e.SpecHash, e.Revision)
}

func hashOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return hex.EncodeToString(sum[:])
}

// Name returns what the edit is called once it serves all parents: the revision of its scripts, or its ID if there are none.
func (e Edit) Name() string {
	if e.Revision != "" {
		return e.Revision
	}
	return e.ID(Edit{})
}

// Limits bound what is deleted and recreated.
type Limits struct {
	// Edit are those of the definition for edits. Nil means the rule for a sample.
	Edit *v1alpha1.ScriptPreview
	// Always are those within SettleTime if nothing was edited. Nil is no limit.
	Always *v1alpha1.DeletionGuard
	// Shards is how many guards there are, which share each limit that is a number. Zero is one.
	Shards int
}

// Hold is what a Guard keeps from being deleted.
type Hold struct {
	// ID is what an approval names, in 64 hexadecimal digits.
	ID string
	// Edit is held, and Settled served before it. They are equal if nothing was edited.
	Edit, Settled Edit
	// Message says how much would be deleted, or is empty if nothing is held.
	Message string
}

// IsOfEdit reports whether an edit is held.
func (h Hold) IsOfEdit() bool { return h.Edit != h.Settled }

// CountsChild reports whether a child is counted, by its key and the time of its creation.
type CountsChild func(child apply.Key, created time.Time) bool

// Guard bounds what an edit deletes and recreates of the children that there were before it, whatever its preview has found. Its methods
// may be called by several goroutines.
type Guard struct {
	clock clock.PassiveClock
	// countChildren counts the children that are not being deleted and for which counts returns true.
	countChildren func(counts CountsChild) ChildCounts
	// store makes a record outlive the process.
	store func(context.Context, Record) error
	// limits returns those of the definition.
	limits func() Limits
	// changed is called once something is held, or is held no more without an approval.
	changed func()

	mu     sync.Mutex
	record Record
	// complete is set if record.Edit serves all parents.
	complete bool
	approved Edit
	// lost are the children that count, by what was done to them, and findings what they come to, with those of earlier processes.
	lost     map[apply.Key]Action
	counted  map[destruction]map[apply.Key]bool
	findings *Findings
	// held is why heldEdit is held, or empty. superseded are the edits whose place another one has taken since what has settled.
	held       string
	heldEdit   Edit
	superseded map[Edit]bool
	// asking are the parents whose passes have asked for what is held, and approvedUntil is until when all may be deleted although nothing was
	// edited.
	asking        map[apply.Key]bool
	approvedUntil time.Time
}

// NewGuard returns a Guard. record is what an earlier process has stored.
func NewGuard(
	clock clock.PassiveClock, record Record,
	countChildren func(CountsChild) ChildCounts, store func(context.Context, Record) error,
	limits func() Limits, changed func(),
) *Guard {
	return &Guard{clock: clock, record: record, countChildren: countChildren, store: store, limits: limits, changed: changed}
}

// Deletion is a child that is about to be deleted, or recreated.
type Deletion struct {
	Parent, Child apply.Key
	Action        Action
	ChildCreated  time.Time
}

// MayDelete returns nil if a pass of an edit may delete a child, or why not: that exceeds the limits, or can't be recorded.
func (g *Guard) MayDelete(ctx context.Context, edit Edit, loss Deletion) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.expire(); !g.isBounded(edit) {
		return nil
	}
	if edit != g.record.Edit && !g.superseded[edit] { // Otherwise it is a pass that began before.
		g.begin(edit)
	}
	switch {
	case g.lost[loss.Child] != "":
		return nil // It counts already.
	case g.held != "":
		return g.hold(loss.Parent)
	}
	if err := g.prepare(ctx); err != nil {
		return err
	}
	undo := g.count(loss)
	if g.held = g.findings.Held(g.rule(edit)); g.held == "" {
		g.lost[loss.Child] = loss.Action
		return nil
	}
	undo() // It stays, and would count again each time that it is asked for.
	g.heldEdit = edit
	g.held += fmt.Sprintf("; %d are gone, and no more are deleted", g.findings.countOf(anyKind, anyAction))
	g.changed()
	return g.hold(loss.Parent)
}

// count adds a child to what is found, and to the children that there were if it has come since these were counted. It returns how that is
// undone.
func (g *Guard) count(loss Deletion) (undo func()) {
	kind := loss.Child.Kind.GroupKind()
	before, known, children := map[destruction]destroyed{}, map[destruction]bool{}, maps.Clone(g.findings.children)
	for by, d := range g.findings.destroyedBy(kind, loss.Action) {
		before[by], known[by] = *d, g.counted[by][loss.Parent]
	}
	g.findings.addDestroyed(&Batch{
		destroyed: map[apply.Key]Action{loss.Child: loss.Action}, owners: map[apply.Key]apply.Key{loss.Child: loss.Parent},
	}, g.counted)
	if loss.ChildCreated.After(g.record.Before.At) { // The API server's times are of whole seconds: one of that second is taken for counted.
		g.findings.children[kind]++
		g.findings.children[anyKind]++
	}
	return func() {
		g.findings.children = children
		for by, d := range before {
			if *g.findings.destroyed[by] = d; !known[by] {
				delete(g.counted[by], loss.Parent)
			}
		}
	}
}

// hold returns why a child of a parent is not deleted.
func (g *Guard) hold(parent apply.Key) error {
	if g.asking == nil {
		g.asking = map[apply.Key]bool{}
	}
	g.asking[parent] = true
	if g.heldEdit == g.record.Settled {
		return fmt.Errorf("it is not deleted: %s", g.held)
	}
	return fmt.Errorf("it is not deleted, as the edit is held: %s", g.held)
}

// rule returns the rule for deletions of an edit: the limits of the definition for children, if it has some, or that for a sample.
func (g *Guard) rule(edit Edit) Rule {
	limits := g.limits()
	if always := limits.Always; always != nil && edit == g.record.Settled {
		return limitRule{&v1alpha1.ScriptPreview{
			MaxDeletedChildren: always.MaxDeletedChildren, MaxRecreatedChildren: always.MaxRecreatedChildren,
		}, "spec.deletionGuard", limits.Shards}
	}
	return GuardRule(limits.Edit, limits.Shards)
}

// GuardRule returns the rule of a Guard for edits, by the limits of the definition, which may be nil, and how many guards share them.
func GuardRule(limits *v1alpha1.ScriptPreview, shards int) Rule {
	if limits == nil || limits.MaxDeletedChildren == nil && limits.MaxRecreatedChildren == nil {
		return RuleOf(nil)
	}
	return limitRule{limits, limitsOfEdits, shards}
}

// prepare makes sure that it is known, also after a restart, what there was before the first deletion.
func (g *Guard) prepare(ctx context.Context) error {
	if g.record.Before != nil {
		g.load()
		return nil
	}
	record := g.record
	record.Before = new(g.countPresent())
	if err := g.store(ctx, record); err != nil {
		return fmt.Errorf("what the edit deletes can't be recorded in the definition's status: %w", err)
	}
	g.record = record
	g.setFindings(Gone{})
	return nil
}

// load makes findings of the record of an earlier process, unless there are some.
func (g *Guard) load() {
	if g.findings == nil {
		g.setFindings(g.recount())
	}
}

func (g *Guard) setFindings(gone Gone) {
	g.findings, g.lost, g.counted = NewFindings(), map[apply.Key]Action{}, map[destruction]map[apply.Key]bool{}
	for by, n := range gone {
		g.findings.addGone(by, n)
	}
	g.setTotals()
}

// setTotals has the findings be of the children that were counted.
func (g *Guard) setTotals() {
	g.findings.Known = g.record.Before.Parents
	clear(g.findings.children)
	for kind, n := range g.record.Before.Children {
		g.findings.children[kind] += n
		g.findings.children[anyKind] += n
	}
}

// recount returns how many of the children are gone that there were before the first deletion, from those that are left. One that was
// created in the second in which they were counted may be another one.
func (g *Guard) recount() Gone {
	at := g.record.Before.At.Truncate(time.Second)
	return g.record.Gone(g.countChildren(func(_ apply.Key, created time.Time) bool { return created.Before(at) }).Children)
}

// countPresent counts the children of now. One that was deleted may still be in a cache. One that was recreated is there again, or missing
// until it is.
func (g *Guard) countPresent() ChildCounts {
	present := g.countChildren(func(child apply.Key, _ time.Time) bool { return g.lost[child] != Delete })
	present.At = g.clock.Now()
	return present
}

// countAnew counts the children of now, with those that edits have deleted, in the place of those that there were: some have come, and
// others have gone that no edit has deleted. A later process can't know why.
func (g *Guard) countAnew() {
	g.load()
	before := g.countPresent()
	before.Recreated = map[schema.GroupKind]int{}
	for by, d := range g.findings.destroyed {
		switch {
		case by.kind == anyKind || d.children == 0:
		case by.action == Delete:
			before.Children[by.kind] += d.children
		case by.action == Recreate:
			before.Recreated[by.kind] = d.children
		}
	}
	g.record.Before = &before
	g.setTotals()
}

// Gone returns which children are gone that count with what an edit deletes once it takes over: for its preview.
func (g *Guard) Gone(edit Edit) Gone {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.expire(); edit == g.approved || !g.record.Counts(edit, g.record.Edit == g.approved) {
		return nil
	}
	if g.findings == nil {
		return g.recount()
	}
	gone := Gone{}
	for by, d := range g.findings.destroyed {
		if by.kind != anyKind && by.action != anyAction {
			gone[by] = d.children
		}
	}
	return gone
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
	if g.record.Before != nil {
		g.countAnew()
	}
	if g.superseded == nil {
		g.superseded = map[Edit]bool{}
	}
	g.superseded[g.record.Edit] = true
	delete(g.superseded, edit)
	g.record.Edit, g.record.Since, g.complete, g.held = edit, g.clock.Now(), false, ""
}

// forget drops what has been counted.
func (g *Guard) forget() {
	g.record.Before, g.findings, g.lost, g.counted, g.held, g.superseded, g.asking = nil, nil, nil, nil, "", nil, nil
}

// isIdle reports whether nothing is being edited: what serves has settled.
func (g *Guard) isIdle() bool { return g.record.Edit == g.record.Settled }

// isBounded reports whether what passes of an edit delete is counted.
func (g *Guard) isBounded(edit Edit) bool {
	switch edit {
	case g.approved:
		return false
	case g.record.Settled: // What is taken back cleans up after the edit.
		return g.isIdle() && g.limits().Always != nil && !g.clock.Now().Before(g.approvedUntil)
	}
	return true
}

// expire drops what was deleted SettleTime ago without an edit, or by one that has served all parents for that time.
func (g *Guard) expire() {
	switch {
	case g.held != "":
	case !g.isIdle():
		if g.record.Settles(g.complete, g.clock.Now()) {
			g.settle(g.record.Edit)
		}
	case g.record.Before != nil && g.clock.Since(g.record.Before.At) >= SettleTime:
		g.forget()
	}
}

// NoteSynced notes that a pass of a parent has succeeded, or that the parent is gone. What was held without an edit is held no more once no
// parent asks for it.
func (g *Guard) NoteSynced(parent apply.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.asking[parent] {
		return
	}
	delete(g.asking, parent)
	if len(g.asking) == 0 && g.held != "" && g.heldEdit == g.record.Settled {
		g.held, g.findings, g.lost = "", nil, nil // What is gone is counted anew, and counts until it expires.
		g.changed()
	}
}

// IsSettled reports whether an edit serves by now, or is approved: what a parent has asked for by then is not its fault.
func (g *Guard) IsSettled(edit Edit) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return edit == g.record.Settled || edit == g.approved
}

// SetServing records which edit serves, or begins to. complete is set if it serves all parents.
func (g *Guard) SetServing(edit Edit, complete bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.expire(); edit == g.record.Settled {
		return
	}
	if edit != g.record.Edit {
		g.begin(edit)
	}
	g.complete = complete
	g.expire()
}

func (g *Guard) settle(edit Edit) {
	g.forget()
	g.record.Settled, g.record.Edit, g.approved = edit, edit, Edit{}
}

// SetInitial records which edit serves when parents begin to be synced: the first one of a definition whose parents have no children can
// delete none.
func (g *Guard) SetInitial(edit Edit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.record.Settled == (Edit{}) && g.record.Before == nil && len(g.countPresent().Children) == 0 {
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

// Approve lets an edit delete whatever it does. If it is what is held without an edit, whatever is deleted within SettleTime does not
// count.
func (g *Guard) Approve(edit Edit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case edit != g.record.Settled:
		if g.approved = edit; g.heldEdit == edit {
			g.held = ""
		}
	case g.heldEdit == edit && g.held != "":
		g.forget()
		g.approvedUntil = g.clock.Now().Add(SettleTime)
	}
}

// Held returns what is held.
func (g *Guard) Held() Hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := Hold{Edit: g.heldEdit, Settled: g.record.Settled, Message: g.held}
	if h.ID = h.Edit.ID(h.Settled); !h.IsOfEdit() && g.record.Before != nil { // That it was approved once says nothing of the next time.
		h.ID = hashOf(h.ID, strconv.FormatInt(g.record.Before.At.Unix(), 10))
	}
	return h
}

// countInterval is how often Record counts the children at most.
const countInterval = 5 * time.Second

// Record returns what the next process needs.
func (g *Guard) Record() Record {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.findings != nil && !g.isIdle() && g.clock.Since(g.record.Before.At) >= countInterval {
		g.countAnew()
	}
	return g.record
}
