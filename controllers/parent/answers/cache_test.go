package answers

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

func TestFingerprint(t *testing.T) {
	m := NewCache(lru.New(1<<20), "m")
	list := func(objects ...*unstructured.Unstructured) []*unstructured.Unstructured { return objects }
	base := variant.Observed{Parent: parenttest.Object("p"), Children: list(parenttest.Object("a"), parenttest.Object("b"))}
	cases := map[string]struct {
		reason   string
		observed variant.Observed
		revision string
		same     bool
	}{
		"Equal": {
			"The same objects have the same fingerprint.",
			variant.Observed{Parent: parenttest.Object("p"), Children: list(parenttest.Object("a"), parenttest.Object("b"))}, "r", true,
		},
		"Parent": {
			"A newer parent counts.", variant.Observed{Parent: parenttest.Object("p", parenttest.AtVersion("2")), Children: base.Children}, "r", false,
		},
		"Child": {
			"A newer child counts.", variant.Observed{Parent: base.Parent, Children: list(parenttest.Object("a"), parenttest.Object("b", parenttest.AtVersion("2")))}, "r",
			false,
		},
		"Fewer": {"A deleted child counts.", variant.Observed{Parent: base.Parent, Children: list(parenttest.Object("a"))}, "r", false},
		"AnotherObject": {
			"Another object of the same name and version counts.",
			variant.Observed{Parent: base.Parent, Children: list(parenttest.Object("a"), parenttest.Object("b", parenttest.WithUID("new")))}, "r", false,
		},
		"OtherRole": {
			"The role of an object counts: child or related.",
			variant.Observed{Parent: base.Parent, Children: list(parenttest.Object("a")), Related: list(parenttest.Object("b"))}, "r", false,
		},
		"Release": {
			"A child to release counts, although hooks do not see it.",
			variant.Observed{Parent: base.Parent, Children: base.Children, Release: list(parenttest.Object("c"))}, "r", false,
		},
		"Finalizing": {
			"The called hook counts.", variant.Observed{Parent: base.Parent, Children: base.Children, Finalizing: true}, "r", false,
		},
		"Revisions": {
			"A ControllerRevision counts.", variant.Observed{Parent: base.Parent, Children: base.Children, Revisions: list(parenttest.Object("r"))},
			"r", false,
		},
		"Inputs": {
			"An input counts.", variant.Observed{Parent: base.Parent, Children: base.Children, Inputs: list(parenttest.Object("i"))}, "r", false,
		},
		"RelatedKinds": {
			"A related kind counts, even without objects.",
			variant.Observed{Parent: base.Parent, Children: base.Children, RelatedKinds: []schema.GroupVersionKind{{Kind: "Pod"}}}, "r",
			false,
		},
		"Script": {"A new revision of the scripts counts.", base, "r2", false},
	}
	for name, tc := range cases {
		if same := m.Fingerprint(tc.observed, tc.revision, 0) == m.Fingerprint(base, "r", 0); same != tc.same {
			t.Errorf("%s: %s", name, tc.reason)
		}
	}
	if m.Fingerprint(base, "r", 1) == m.Fingerprint(base, "r", 0) {
		t.Error("A schema that has changed counts.")
	}
}

func TestLookupAnswer(t *testing.T) {
	key, now := controller.Key{Name: "p"}, time.Unix(1000, 0)
	stamped := func(subject string, stamps map[string]string) variant.Call {
		return variant.Call{Hook: "map", Subject: subject, Stamps: stamps}
	}
	call := stamped("input", map[string]string{"input": "1", "outputs": "1", "related": ""})
	cases := map[string]struct {
		reason   string
		call     variant.Call
		revision string
		read     engines.ReadSet
		at       time.Time
		known    bool
	}{
		"Same":    {"The same request has the same answer.", call, "r", engines.ReadSet{"input", "outputs"}, now, true},
		"Unknown": {"A field without a stamp may have changed.", call, "r", nil, now, false},
		"Read": {
			"A field that was read has changed.", stamped("input", map[string]string{"input": "2", "outputs": "1"}), "r",
			engines.ReadSet{"input", "outputs"}, now, false,
		},
		"ReadGone": {
			"A field that was read is absent.", stamped("input", map[string]string{"outputs": "1"}), "r", engines.ReadSet{"input", "outputs"}, now,
			false,
		},
		"Unread": {
			"A field that was not read does not count.", stamped("input", map[string]string{"input": "1", "outputs": "2"}), "r",
			engines.ReadSet{"input"}, now, true,
		},
		"Part": {
			"A part of a field that was read counts as the field.", stamped("input", map[string]string{"input": "2"}), "r",
			engines.ReadSet{"input.spec"}, now, false,
		},
		"UnreadGone": {
			"Nor does its absence.", stamped("input", map[string]string{"input": "1"}), "r", engines.ReadSet{"input"}, now, true,
		},
		"Subject": {"Another subject has another answer.", stamped("other", call.Stamps), "r", engines.ReadSet{"input", "outputs"}, now, false},
		"NoStamps": {
			"A call without stamps is always made.", stamped("input", nil), "r", engines.ReadSet{}, now, false,
		},
		"Revision": {"Another revision may answer differently.", call, "r2", engines.ReadSet{"input", "outputs"}, now, false},
		"Expired":  {"An expired answer is not reused.", call, "r", engines.ReadSet{"input", "outputs"}, now.Add(time.Minute), false},
	}
	for name, tc := range cases {
		m := NewCache(lru.New(1<<20), "m")
		m.rememberAnswer(key, call, tc.read, Cached{revision: "r", Body: "answer", Expires: now.Add(time.Minute)})
		if _, known := m.LookupAnswer(key, tc.call, tc.revision, tc.at); known != tc.known {
			t.Errorf("%s: known %v: %s", name, known, tc.reason)
		}
	}
}

// TestPassCacheCloses closes the instance of a refused edit, while the instance before it goes on.
func TestPassCacheCloses(t *testing.T) {
	answers := lru.New(1 << 20)
	key, running, next := controller.Key{Name: "p"}, NewCache(answers, "m"), NewCache(answers, "m")
	call := variant.Call{Hook: "map", Subject: "input", Stamps: map[string]string{"input": "1"}}
	for _, m := range []*Cache{running, next} {
		m.rememberAnswer(key, call, nil, Cached{revision: "r"})
	}
	etag := lru.Key{Owner: "m", Group: "etags", ID: 1}
	answers.Put(etag, "answer", 1)
	next.Close()
	now := time.Unix(1000, 0)
	if _, known := running.LookupAnswer(key, call, "r", now); !known {
		t.Error("the answers of the running instance are gone")
	}
	if _, known := answers.Get(etag); !known {
		t.Error("the answers that a webhook may confirm are gone")
	}
	if _, known := next.LookupAnswer(key, call, "r", now); known {
		t.Error("the answers of the closed instance are kept")
	}
}

func TestPassCacheForgets(t *testing.T) {
	key, m := controller.Key{Name: "p"}, NewCache(lru.New(1<<20), "m")
	for _, subject := range []string{"input", "gone"} {
		call := variant.Call{Hook: "map", Subject: subject, Stamps: map[string]string{"input": "1"}}
		m.rememberAnswer(key, call, nil, Cached{revision: "r"})
	}
	m.RetainAnswers(key, []variant.Call{{Hook: "map", Subject: "input"}})
	if n := m.answers.Len("m", AnswerGroup{m, key}); n != 1 {
		t.Errorf("%d answers are kept, want only that to the remaining call", n)
	}
	m.Forget(key)
	if got := m.answers.Usage()["m"].Bytes; got != 0 {
		t.Errorf("answers of a deleted parent are kept, %d bytes", got)
	}
	m.rememberAnswer(key, variant.Call{Hook: "map", Stamps: map[string]string{"input": "1"}}, nil, Cached{Size: 100})
	if got := m.answers.Usage()["m"].Bytes; got != 100+answerOverhead {
		t.Errorf("an answer of 100 bytes takes %d", got)
	}
	m.Close()
	if got := m.answers.Usage(); got["m"].Bytes != 0 {
		t.Errorf("answers of a definition that has ended are kept: %v", got)
	}
}
