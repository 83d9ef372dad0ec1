package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// model has the children a-0-0 and a-0-1 of the parent a-0, of one definition, and so on with other letters: those of b are recreated, and
// those of c one after another.
var model = Model{
	Parents: "things", Script: "hooks", Lease: "lease",
	Child: func(name string) (Child, bool) {
		parts := strings.Split(name, "-")
		if len(parts) != 3 {
			return Child{}, false
		}
		parent := parts[0] + "-" + parts[1]
		return Child{Parent: parent, Noted: parent, Recreated: parts[0] > "a", Rolling: parts[0] == "c", MayGoBack: parts[0] == "B"}, true
	},
}

// story makes a history, of one write a second.
type story struct {
	requests cluster.Requests
}

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// add adds a write, which left its process some seconds before it was received.
func (s *story) add(process string, r cluster.Request, sent, answered string, late int) *story {
	n := len(s.requests)
	r.Time, r.Done = began.Add(time.Duration(n)*time.Second), began.Add(time.Duration(n)*time.Second+time.Millisecond)
	r.ID = fmt.Sprint("other-", n)
	if process != "" {
		left := r.Time.Add(-time.Duration(late) * time.Second)
		r.ID = fmt.Sprintf("%s-%d-%d", AuditName(process), left.UnixNano(), n)
	}
	if r.Code == 0 {
		r.Code = 200
	}
	r.Sent, r.Answered = json.RawMessage(sent), json.RawMessage(answered)
	s.requests = append(s.requests, r)
	return s
}

// child adds a write of a child. Its content is in what is sent: hosts ask for no more than metadata.
func (s *story) child(process, verb, name string, value, note int) *story {
	owner := `[{"uid": "u-` + strings.Join(strings.Split(name, "-")[:2], "-") + `", "name": "owner", "controller": true}]`
	sent := fmt.Sprintf(`{"metadata": {"resourceVersion": "7", "ownerReferences": %s}, "data": {"value": "v%d", "note": "v%d"}}`,
		owner, value, note)
	answered := fmt.Sprintf(`{"kind": "PartialObjectMetadata", "metadata": {"ownerReferences": %s}}`, owner)
	if verb == "delete" {
		sent, answered = `{"preconditions": {"uid": "u"}}`, `{"details": {"uid": "u"}}`
	}
	return s.add(process, cluster.Request{Verb: verb, Resource: "configmaps", Name: name}, sent, answered, 0)
}

// parent adds a write of a parent by somebody else.
func (s *story) parent(verb, name string, note int) *story {
	answered := fmt.Sprintf(`{"metadata": {"uid": "u-%s", "resourceVersion": "%d", "generation": %d}, "spec": {"note": "v%d"}}`,
		name, len(s.requests)+1, note, note)
	return s.add("", cluster.Request{Verb: verb, Resource: "things", Name: name}, "{}", answered, 0)
}

// status adds a write of a parent's status by a host.
func (s *story) status(name string, version, generation, observed int) *story {
	meta := fmt.Sprintf(`"metadata": {"uid": "u-%s", "resourceVersion": "%d", "generation": %d}`, name, version, generation)
	text := fmt.Sprintf(`{%s, "status": {"observedGeneration": %d}}`, meta, observed)
	return s.add("x.1", cluster.Request{Verb: "update", Resource: "things", Subresource: "status", Name: name}, text, text, 0)
}

// script adds an edit of the script by somebody else.
func (s *story) script(value int) *story {
	text := fmt.Sprintf(`{"data": {"value.js": "export const value = \"v%d\";"}}`, value)
	return s.add("", cluster.Request{Verb: "patch", Resource: "configmaps", Name: "hooks"}, text, text, 0)
}

// lease adds a renewal.
func (s *story) lease(process string) *story {
	text := fmt.Sprintf(`{"metadata": {"resourceVersion": "7"}, "spec": {"holderIdentity": "id-of-%s"}}`, process)
	return s.add(process, cluster.Request{Verb: "update", Resource: "leases", Name: "lease"}, text, text, 0)
}

// patch adds a write whose body is given.
func (s *story) patch(sent string) *story {
	return s.add("x.1", cluster.Request{Verb: "patch", Resource: "things", Name: "a-0"}, sent, "{}", 0)
}

// late adds a write that left its process so many seconds before.
func (s *story) late(process string, seconds int) *story {
	sent := `{"metadata": {"uid": "u"}}`
	return s.add(process, cluster.Request{Verb: "update", Resource: "things", Name: "a-0"}, sent, sent, seconds)
}

func begin() *story {
	return (&story{}).parent("create", "B-0", 1).parent("create", "a-0", 1).parent("create", "b-0", 1).parent("create", "c-0", 1).script(1)
}

func rules(found []Finding) []string {
	var all []string
	for _, f := range found {
		all = append(all, f.Rule)
	}
	return all
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		story *story
		want  []string // rules
	}{
		"what updates in place do": {
			begin().child("x.1", "create", "a-0-0", 1, 1).script(2).child("x.1", "update", "a-0-0", 2, 1), nil,
		},
		"a recreation for an edit": {
			begin().child("x.1", "create", "b-0-0", 1, 1).script(2).child("x.1", "delete", "b-0-0", 0, 0).
				child("x.1", "create", "b-0-0", 2, 1), nil,
		},
		"a recreation for a change": {
			begin().child("x.1", "create", "b-0-0", 1, 1).parent("patch", "b-0", 2).
				child("x.1", "delete", "b-0-0", 0, 0).child("x.1", "create", "b-0-0", 1, 2), nil,
		},
		"one for what another wrote": {
			begin().child("x.1", "create", "b-0-0", 1, 1).child("", "patch", "b-0-0", 9, 1).
				child("x.1", "delete", "b-0-0", 0, 0).child("x.1", "create", "b-0-0", 1, 1), nil,
		},
		"a creation after another's deletion": {
			begin().child("x.1", "create", "a-0-0", 1, 1).child("", "delete", "a-0-0", 0, 0).
				child("x.1", "create", "a-0-0", 1, 1), nil,
		},
		"a deletion behind the parent": {
			begin().child("x.1", "create", "a-0-0", 1, 1).parent("delete", "a-0", 1).
				child("x.1", "delete", "a-0-0", 0, 0), nil,
		},

		"an older script's value": {
			begin().script(2).child("x.1", "create", "a-0-0", 2, 1).child("y.1", "update", "a-0-0", 1, 1), []string{RuleBack},
		},
		"an older script's value, taken back": {
			begin().script(2).child("x.1", "create", "B-0-0", 2, 1).child("y.1", "update", "B-0-0", 1, 1), nil,
		},
		"an older parent's note": {
			begin().parent("patch", "a-0", 2).child("x.1", "create", "a-0-0", 1, 2).
				child("x.1", "update", "a-0-0", 1, 1), []string{RuleBack},
		},
		"an older value after another's deletion": {
			begin().script(2).child("x.1", "create", "a-0-0", 2, 1).
				child("", "delete", "a-0-0", 0, 0).child("x.1", "create", "a-0-0", 1, 1), []string{RuleBack}},

		"a deletion of what is never deleted": {
			begin().child("x.1", "create", "a-0-0", 1, 1).script(2).child("x.1", "delete", "a-0-0", 0, 0), []string{RuleWanted},
		},
		"a deletion of what is as wanted": {
			begin().child("x.1", "create", "b-0-0", 1, 1).child("x.1", "delete", "b-0-0", 0, 0), []string{RuleWanted},
		},
		"created as it was": {begin().child("x.1", "create", "b-0-0", 1, 1).script(2).
			child("x.1", "delete", "b-0-0", 0, 0).child("y.1", "create", "b-0-0", 1, 1),
			[]string{RuleFlapping}},
		"two of a rolling update": {begin().child("x.1", "create", "c-0-0", 1, 1).child("x.1", "create", "c-0-1", 1, 1).script(2).
			child("x.1", "delete", "c-0-0", 0, 0).child("x.1", "delete", "c-0-1", 0, 0), []string{RuleRolling}},
		"one of a rolling update, and one that somebody changed": {
			begin().child("x.1", "create", "c-0-0", 1, 1).child("x.1", "create", "c-0-1", 1, 1).script(2).child("", "update", "c-0-1", 0, 1).
				child("x.1", "delete", "c-0-0", 0, 0).child("x.1", "delete", "c-0-1", 0, 0), nil,
		},
		"one after another": {begin().child("x.1", "create", "c-0-0", 1, 1).child("x.1", "create", "c-0-1", 1, 1).script(2).
			child("x.1", "delete", "c-0-0", 0, 0).child("x.1", "create", "c-0-0", 2, 1).child("x.1", "delete", "c-0-1", 0, 0), nil},
		"a child of a parent that never was": {
			(&story{}).script(1).child("x.1", "create", "a-0-0", 1, 1), []string{RuleOwner},
		},

		"observed forwards": {begin().status("a-0", 11, 2, 1).status("a-0", 12, 2, 2), nil},
		"observed backwards": {
			begin().status("a-0", 11, 2, 2).status("a-0", 12, 2, 1), []string{RuleObserved},
		},
		"observed before it is written": {begin().status("a-0", 11, 2, 3), []string{RuleObserved}},

		"a patch with a UID":        {begin().patch(`{"metadata": {"uid": "u"}}`), nil},
		"a patch with a version":    {begin().patch(`{"metadata": {"resourceVersion": "1"}}`), nil},
		"a patch that tests a UID":  {begin().patch(`[{"op": "test", "path": "/metadata/uid", "value": "u"}]`), nil},
		"a patch with no condition": {begin().patch(`{"metadata": {"labels": {}}}`), []string{RulePrecondition}},
		"a JSON patch with none": {
			begin().patch(`[{"op": "add", "path": "/metadata/uid", "value": "u"}]`), []string{RulePrecondition},
		},

		"the leader writes": {
			begin().lease("x.1").late("x.1", 0).lease("y.1").late("y.1", 0), nil,
		},
		"what was under way when another took over": {begin().lease("x.1").lease("y.1").late("x.1", 2), nil},
		"a write after another took over": {
			begin().lease("x.1").lease("y.1").late("x.1", 0), []string{RuleLeader},
		},
		"a write after another life of the same host": {
			begin().lease("x.1").lease("x.2").late("x.1", 0), []string{RuleLeader},
		},
	} {
		t.Run(name, func(t *testing.T) {
			writes, err := Read(c.story.requests)
			if err != nil {
				t.Fatal(err)
			}
			checker := NewChecker(model)
			var got []string
			for _, w := range writes { // One by one, as a run has them in parts.
				got = append(got, rules(checker.Check([]Write{w}))...)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
