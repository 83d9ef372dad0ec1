package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Child is what is known of a child by its name.
type Child struct {
	// Parent is the name of its parent, and Noted that of the object from which it has its note.
	Parent, Noted string
	// Recreated reports whether an update deletes the child and creates it again.
	Recreated bool
	// MayGoBack reports whether a rollout of its definition was taken back, so that it may get an older value.
	MayGoBack bool
	// Rolling reports whether the children of a parent are updated one after another.
	Rolling bool
}

// Model is what a checker knows of the objects that hosts write. Children are ConfigMaps with data.value, which comes from the script, and
// data.note, from the parent's spec.note: v1 before v2, and so on.
type Model struct {
	// Child returns the child of a name, if it is one.
	Child func(name string) (Child, bool)
	// Parents is the resource of the parents.
	Parents string
	// Script is the ConfigMap in which the newest value is.
	Script string
	// Lease is the name of the lease that tells which host may write.
	Lease string
}

// Finding is a write that a rule forbids.
type Finding struct {
	Rule, Text string
	Write      Write
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s\n    %s", f.Rule, f.Text, f.Write) }

// The rules.
const (
	// RulePrecondition asks of each update, patch and deletion that it names the version or the UID that it was decided on.
	RulePrecondition = "precondition"
	// RuleLeader forbids a host to write after another one has taken the lease.
	RuleLeader = "leader"
	// RuleObserved forbids that status.observedGeneration goes back, or is ahead of the generation.
	RuleObserved = "observedGeneration"
	// RuleBack forbids that a host gives a child an older value than a host has given it.
	RuleBack = "back"
	// RuleWanted forbids that a host deletes a child that the hook wants as it is, or that is not to be deleted for an update.
	RuleWanted = "wanted"
	// RuleFlapping forbids that a host creates a child again as it was when it deleted it.
	RuleFlapping = "flapping"
	// RuleRolling forbids that a host deletes a child of a rolling update while another one of the same parent is missing, unless somebody
	// else has changed it.
	RuleRolling = "rolling"
	// RuleOwner asks of each child that is created that it has one controller, which is a parent that was there.
	RuleOwner = "owner"
)

// Checker goes through the writes of a control plane as they come.
type Checker struct {
	model    Model
	terms    []term
	observed map[string]float64 // of a parent's UID
	known    map[string]bool    // UIDs of parents
	deleted  map[string]bool    // names of parents
	children map[string]*state
	// value is the newest that the script was given, and notes are those of the objects that children have theirs from.
	value int
	notes map[string]int
	found []Finding
}

// NewChecker returns a Checker that has seen nothing yet.
func NewChecker(m Model) *Checker {
	return &Checker{
		model: m, observed: map[string]float64{}, known: map[string]bool{}, deleted: map[string]bool{},
		children: map[string]*state{}, notes: map[string]int{},
	}
}

// Check returns which of the writes a rule forbids, after those of earlier calls.
func (c *Checker) Check(writes []Write) []Finding {
	c.found = nil
	c.checkPreconditions(writes)
	c.checkLeader(writes)
	c.checkObserved(writes)
	c.checkChildren(writes)
	return c.found
}

func (c *Checker) reportf(rule string, w Write, format string, args ...any) {
	c.found = append(c.found, Finding{rule, fmt.Sprintf(format, args...), w})
}

func (c *Checker) checkPreconditions(writes []Write) {
	for _, w := range writes {
		if w.Process == "" || w.Resource == "events" || w.Resource == "leases" || w.Verb == "create" || !w.done() {
			continue
		}
		if !w.conditional() {
			sent, _ := json.Marshal(w.Sent)
			c.reportf(RulePrecondition, w, "it names neither the UID nor the version that it was decided on: %s", sent)
		}
	}
}

// conditional reports whether a write is refused if its object is another one than was read, or of another version.
func (w Write) conditional() bool {
	has := func(path ...string) bool { text, _ := field(w.Sent, path...).(string); return text != "" }
	if has("metadata", "resourceVersion") || has("metadata", "uid") || has("preconditions", "uid") || has("preconditions", "resourceVersion") {
		return true
	}
	operations, _ := w.Sent["operations"].([]any)
	return slices.ContainsFunc(operations, func(entry any) bool {
		operation, _ := entry.(map[string]any)
		path, _ := operation["path"].(string)
		return operation["op"] == "test" && (path == "/metadata/uid" || path == "/metadata/resourceVersion")
	})
}

// term is from when on a process holds the lease.
type term struct {
	process string
	from    time.Time
}

// checkLeader goes through the writes that were done. What was under way when another process took the lease is allowed, as it can't be
// called back.
func (c *Checker) checkLeader(writes []Write) {
	for _, w := range writes {
		if w.holder(c.model.Lease) == "" {
			continue
		}
		if len(c.terms) == 0 || c.terms[len(c.terms)-1].process != w.Process {
			c.terms = append(c.terms, term{w.Process, w.Done})
		}
	}
	for _, w := range writes {
		if w.Process == "" || !w.done() || w.Resource == "leases" || w.Resource == "events" {
			continue
		}
		for _, t := range slices.Backward(c.terms) {
			if t.from.After(w.Left) {
				continue
			}
			if t.process != w.Process {
				c.reportf(RuleLeader, w, "%s holds the lease since %s, and the write left at %s",
					t.process, t.from.Format(clock), w.Left.Format(clock))
			}
			break
		}
	}
}

// holder returns the identity with which a host has written that it holds the lease, or "".
func (w Write) holder(lease string) string {
	if w.Resource != "leases" || w.Name != lease || w.Process == "" || !w.done() {
		return ""
	}
	identity, _ := field(w.Answered, "spec", "holderIdentity").(string)
	return identity
}

// Holder returns the process that has renewed the lease last, and its identity.
func Holder(writes []Write, lease string) (process, identity string) {
	for _, w := range writes {
		if now := w.holder(lease); now != "" {
			process, identity = w.Process, now
		}
	}
	return process, identity
}

// checkObserved looks at the status of parents, of each in the order of its versions.
func (c *Checker) checkObserved(writes []Write) {
	byUID := map[string][]Write{}
	for _, w := range writes {
		if w.done() && w.version() > 0 && w.Resource == c.model.Parents {
			byUID[w.uid()] = append(byUID[w.uid()], w)
			c.known[w.uid()] = true
		}
	}
	for uid, versions := range byUID {
		slices.SortStableFunc(versions, func(a, b Write) int { return cmp.Compare(a.version(), b.version()) })
		for _, w := range versions {
			observed, _ := w.stored("status", "observedGeneration").(float64)
			generation, _ := field(w.Answered, "metadata", "generation").(float64)
			switch last := c.observed[uid]; {
			case observed < last:
				c.reportf(RuleObserved, w, "it goes from %v back to %v", last, observed)
			case observed > generation:
				c.reportf(RuleObserved, w, "it is %v, and the generation %v", observed, generation)
			}
			c.observed[uid] = observed
		}
	}
}

// state is what the writes so far tell of a child.
type state struct {
	// here reports whether the child is there. If its last write was a host's, it has what was given then.
	here, byHost bool
	// byOther reports whether its last write was somebody else's.
	byOther bool
	// givenValue and givenNote are what a host has given it last.
	givenValue, givenNote int
	// deletion is the last write if a host has deleted it.
	deletion *Write
}

// checkChildren goes through the writes in the order of their effects. Somebody else's may have theirs at any time from when they are
// received until they are answered, and are taken into account at both.
func (c *Checker) checkChildren(writes []Write) {
	type effect struct {
		at time.Time
		Write
	}
	var effects []effect
	for _, w := range writes {
		if !w.done() {
			continue
		}
		if w.Process == "" {
			effects = append(effects, effect{w.Time, w})
		}
		effects = append(effects, effect{w.Done, w})
	}
	slices.SortStableFunc(effects, func(a, b effect) int { return a.at.Compare(b.at) })
	for _, e := range effects {
		child, isChild := c.model.Child(e.Name)
		switch {
		case e.Resource == "configmaps" && isChild:
			c.childWritten(e.Write, child)
		case e.Process != "":
		case e.Resource == "configmaps" && e.Name == c.model.Script:
			c.value = max(c.value, newest(e.Answered))
		case e.Resource == c.model.Parents && e.Verb == "delete":
			c.deleted[e.Name] = true
		case e.Resource == c.model.Parents:
			note, _ := field(e.Answered, "spec", "note").(string)
			c.notes[e.Name] = max(c.notes[e.Name], version(note))
		}
	}
}

func (c *Checker) childWritten(w Write, child Child) {
	s := c.children[w.Name]
	if s == nil {
		s = &state{}
		c.children[w.Name] = s
	}
	switch {
	case w.Process == "": // Somebody else's write explains what a host does about it, whatever it was.
		s.here, s.byHost, s.byOther, s.deletion = w.Verb != "delete", false, true, nil
	case w.Verb == "delete":
		if !c.deleted[child.Parent] {
			c.checkDeletion(w, child, s)
		}
		s.here, s.deletion = false, &w
	default:
		c.checkContent(w, child, s)
		s.here, s.byHost, s.byOther, s.deletion = true, true, false, nil
		s.givenValue, s.givenNote = version(w.data("value")), version(w.data("note"))
	}
}

// checkContent checks what a host gives a child.
func (c *Checker) checkContent(w Write, child Child, s *state) {
	value, note := version(w.data("value")), version(w.data("note"))
	if !child.MayGoBack && value < s.givenValue || note < s.givenNote {
		c.reportf(RuleBack, w, "a host had given it value v%d and note v%d", s.givenValue, s.givenNote)
	}
	if w.Verb == "create" && s.deletion != nil && s.byHost && value == s.givenValue && note == s.givenNote && !c.deleted[child.Parent] {
		c.reportf(RuleFlapping, w, "it is created as it was when a host deleted it:\n    %s", *s.deletion)
	}
	if w.Verb == "create" {
		c.checkOwner(w)
	}
}

// checkDeletion checks a deletion by a host of a child whose parent is there.
func (c *Checker) checkDeletion(w Write, child Child, s *state) {
	switch {
	case !child.Recreated:
		c.reportf(RuleWanted, w, "its updates delete nothing")
	case s.byHost && s.givenValue == c.value && s.givenNote == c.notes[child.Noted]:
		c.reportf(RuleWanted, w, "it is as the newest inputs want it: value v%d, note v%d", s.givenValue, s.givenNote)
	}
	if !child.Rolling || s.byOther { // What another writer has changed is set right at once.
		return
	}
	for name, other := range c.children {
		if sibling, _ := c.model.Child(name); sibling.Parent == child.Parent && name != w.Name && other.deletion != nil {
			c.reportf(RuleRolling, w, "%s has been deleted for it, and is not there again", name)
		}
	}
}

// checkOwner checks that a child has one controller, of a UID that a write of a parent has shown.
func (c *Checker) checkOwner(w Write) {
	owners, _ := field(w.Answered, "metadata", "ownerReferences").([]any)
	controllers := 0
	for _, entry := range owners {
		owner, _ := entry.(map[string]any)
		uid, _ := owner["uid"].(string)
		if owner["controller"] == true {
			controllers++
		}
		if !c.known[uid] {
			c.reportf(RuleOwner, w, "its owner %v, %s, is none of the parents", owner["name"], uid)
		}
	}
	if controllers != 1 {
		c.reportf(RuleOwner, w, "it has %d controllers, want 1", controllers)
	}
}

// version returns the number of v12, or 0.
func version(text string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(text, "v"))
	return n
}

var inScript = regexp.MustCompile(`"v(\d+)"`)

// newest returns the highest version that the files of a ConfigMap name.
func newest(configMap map[string]any) int {
	data, _ := configMap["data"].(map[string]any)
	highest := 0
	for _, file := range data {
		text, _ := file.(string)
		for _, match := range inScript.FindAllStringSubmatch(text, -1) {
			highest = max(highest, version(match[1]))
		}
	}
	return highest
}
