package parent

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/informer"
)

func version(v string) func(map[string]any) {
	return func(m map[string]any) { m["resourceVersion"] = v }
}

func withUID(uid string) func(map[string]any) {
	return func(m map[string]any) { m["uid"] = uid }
}

func TestAheadOfAnUpdate(t *testing.T) {
	cases := map[string]struct {
		reason string
		events []informer.Event
		cached *unstructured.Unstructured
		want   string // resourceVersion
	}{
		"NotSeenYet":  {"The cache shows the version that was replaced.", nil, object("c", version("1")), "2"},
		"Shown":       {"The cache shows the write.", nil, object("c", version("2")), "2"},
		"Overtaken":   {"The cache shows something newer.", nil, object("c", version("3")), "3"},
		"Another":     {"The cache shows another object of that name.", nil, object("c", version("1"), withUID("other")), "1"},
		"LateEvent":   {"The event of the replaced version comes late and confirms nothing.", []informer.Event{{New: object("c", version("1"))}}, object("c", version("1")), "2"},
		"Confirmed":   {"The event of the write ends it.", []informer.Event{{New: object("c", version("2"))}}, object("c", version("1")), "1"},
		"Gone":        {"The deletion of the object ends it.", []informer.Event{{Old: object("c", version("1"))}}, object("c", version("1")), "1"},
		"EarlierGone": {"The deletion of an earlier object of that name does not.", []informer.Event{{Old: object("c", version("0"), withUID("earlier"))}}, object("c", version("1")), "2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAhead(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			a.wrote("p-uid", object("c", version("2")), "1")
			for _, e := range tc.events {
				a.seen(e)
			}
			if got := a.newest(tc.cached).GetResourceVersion(); got != tc.want {
				t.Errorf("%s\nversion %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestAheadOfACreation(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	a := newAhead(clock)
	a.wrote("p-uid", object("c", version("5")), "")
	if got := names(a.createdBy("p-uid")); len(got) != 1 {
		t.Fatalf("created %v, want c", got)
	}
	if got := a.createdBy("other"); got != nil {
		t.Errorf("another owner created %v", names(got))
	}
	a.seen(informer.Event{Old: object("c", withUID("earlier"))})
	if got := a.createdBy("p-uid"); len(got) != 1 {
		t.Error("the end of an earlier object of that name made the creation forgotten: it would be made twice")
	}
	a.seen(informer.Event{New: object("c", version("5"))})
	if got := a.createdBy("p-uid"); got != nil {
		t.Errorf("created %v after the cache showed it", names(got))
	}

	a.wrote("p-uid", object("c", version("5")), "")
	clock.SetTime(clock.Now().Add(aheadFor + time.Second))
	if got := a.createdBy("p-uid"); got != nil {
		t.Errorf("created %v for ever, though no event ever came", names(got))
	}
}

func TestAheadOfADeletion(t *testing.T) {
	a := newAhead(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	cached := object("c")
	a.deleted("p-uid", cached)
	if a.newest(cached).GetDeletionTimestamp() == nil {
		t.Error("an object that was deleted is not being deleted: it would be deleted again")
	}
	if cached.GetDeletionTimestamp() != nil {
		t.Error("the cached object was changed")
	}
}
