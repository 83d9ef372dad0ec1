package writes

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

func TestPartialWrites(t *testing.T) {
	const owner = types.UID("p-uid")
	written := parenttest.Partial(parenttest.Object("a", parenttest.AtVersion("13"), parenttest.WithUID("a-uid")))
	at := func(v string) *unstructured.Unstructured {
		return parenttest.Object("a", parenttest.AtVersion(v), parenttest.WithUID("a-uid"))
	}
	cases := map[string]struct {
		reason    string
		do        func(p *Pending, clock *clocktesting.FakeClock)
		delay     time.Duration
		overdue   int
		completed string // version
		created   int
	}{
		"Written": {"The content is awaited.", func(*Pending, *clocktesting.FakeClock) {}, ContentWait, 0, "", 0},
		"Older": {"An older version completes nothing.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.Observe(informer.Event{New: at("12")})
		}, ContentWait, 0, "", 0},
		"Shown": {"The event of the write completes it.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.Observe(informer.Event{New: at("13")})
		}, 0, 0, "13", 0},
		"Created": {"A creation leaves no rest.", func(p *Pending, _ *clocktesting.FakeClock) {
			created := parenttest.Partial(at("13"))
			created.Change.Action = apply.ActionCreate
			p.NotePartial(owner, created)
			p.Observe(informer.Event{New: at("13")})
		}, 0, 0, "", 0},
		"Newer": {"So does a newer version, but the result of the write is not known.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.Observe(informer.Event{New: at("14")})
		}, 0, 0, "", 0},
		"Gone": {"So does the deletion.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.Observe(informer.Event{Old: at("12")})
		}, 0, 0, "", 0},
		"Another": {"The deletion of an earlier object of that name does not.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.Observe(informer.Event{Old: parenttest.Object("a", parenttest.AtVersion("9"), parenttest.WithUID("earlier"))})
		}, ContentWait, 0, "", 0},
		"Moving": {"The watch is late, but not dead.", func(p *Pending, clock *clocktesting.FakeClock) {
			clock.Step(ContentWait - time.Millisecond)
			p.Observe(informer.Event{New: parenttest.Object("b", parenttest.AtVersion("12"), parenttest.WithUID("b-uid"))})
			clock.Step(ContentWait - time.Millisecond)
		}, time.Millisecond, 0, "", 0},
		"Stopped": {"It was late, and is dead now.", func(p *Pending, clock *clocktesting.FakeClock) {
			clock.Step(ContentWait - time.Millisecond)
			p.Observe(informer.Event{New: parenttest.Object("b", parenttest.AtVersion("12"), parenttest.WithUID("b-uid"))})
			clock.Step(ContentWait)
		}, 0, 1, "", 0},
		"MovingForLong": {"It does not show this object.", func(p *Pending, clock *clocktesting.FakeClock) {
			for range maxContentWait / (ContentWait / 2) {
				clock.Step(ContentWait / 2)
				p.Observe(informer.Event{New: parenttest.Object("b", parenttest.AtVersion("12"), parenttest.WithUID("b-uid"))})
			}
		}, 0, 1, "", 0},
		"OtherMoves": {"The watch of another kind does.", func(p *Pending, clock *clocktesting.FakeClock) {
			clock.Step(ContentWait / 2)
			other := parenttest.Object("b", parenttest.AtVersion("12"), parenttest.WithUID("b-uid"))
			other.SetKind("Other")
			p.Observe(informer.Event{New: other})
			clock.Step(ContentWait / 2)
		}, 0, 1, "", 0},
		"Late": {"After a while it is read.", func(_ *Pending, clock *clocktesting.FakeClock) {
			clock.Step(ContentWait)
		}, 0, 1, "", 0},
		"Second": {"The last write counts.", func(p *Pending, clock *clocktesting.FakeClock) {
			clock.Step(ContentWait / 2)
			p.NotePartial(owner, parenttest.Partial(parenttest.Object("b")))
		}, ContentWait, 0, "", 0},
		"FirstShown": {"Others of the owner are awaited still.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.NotePartial(owner, parenttest.Partial(parenttest.Object("b")))
			p.Observe(informer.Event{New: at("13")})
		}, ContentWait, 0, "13", 0},
		"OtherOwner": {"Those of other owners are not.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.NotePartial("other", parenttest.Partial(parenttest.Object("b")))
			p.Observe(informer.Event{New: at("13")})
		}, 0, 0, "13", 0},
		"Read": {"What was read is known, and kept until the cache shows it.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.SetContent(written, at("13"), nil)
		}, 0, 0, "13", 1},
		"ReadNewer": {"So is a newer version.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.SetContent(written, at("15"), nil)
		}, 0, 0, "", 1},
		"ReadGone": {"It was deleted.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.SetContent(written, nil, nil)
		}, 0, 0, "", 0},
		"ReadAnother": {"It was deleted, and another has its name.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.SetContent(written, parenttest.Object("a", parenttest.AtVersion("15"), parenttest.WithUID("later")), nil)
		}, 0, 0, "", 0},
		"ReadAfterEvent": {"An event that came while it was read counts.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.Observe(informer.Event{New: at("14")})
			p.SetContent(written, at("13"), nil)
		}, 0, 0, "", 0},
		"WrittenAsParent": {"A full answer to another write of the object tells its content.", func(p *Pending, _ *clocktesting.FakeClock) {
			p.NoteWritten("a-uid", at("14"), false)
		}, 0, 0, "", 0},
		"Expired": {"After a minute it is given up.", func(p *Pending, clock *clocktesting.FakeClock) {
			clock.Step(2 * pendingWriteTTL)
			p.expire()
		}, 0, 0, "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
			p := NewPending(clock)
			defer p.Close()
			completed := ""
			p.Completed = func(o apply.Result) { completed = o.Object.GetResourceVersion() }
			p.NotePartial(owner, written)
			tc.do(p, clock)
			delay, overdue := p.ContentDelay(owner)
			if delay != tc.delay || len(overdue) != tc.overdue || p.AwaitsContent(owner) != (delay > 0 || len(overdue) > 0) {
				t.Errorf("%s\nwaits %s and then for %d objects, want %s and %d", tc.reason, delay, len(overdue), tc.delay, tc.overdue)
			}
			if completed != tc.completed {
				t.Errorf("%s\nversion %q completed the outcome, want %q", tc.reason, completed, tc.completed)
			}
			if created := p.CreatedBy(owner); len(created) != tc.created {
				t.Errorf("%s\n%v are created and known, want %d", tc.reason, parenttest.Names(created), tc.created)
			}
		})
	}
}

// TestPartialWriteIsNotShown checks that what has no content is no object to anyone.
func TestPartialWriteIsNotShown(t *testing.T) {
	p := NewPending(clocktesting.NewFakeClock(time.Unix(1000, 0)))
	defer p.Close()
	p.NotePartial("p-uid", parenttest.Partial(parenttest.Object("a", parenttest.AtVersion("13"))))
	cached := parenttest.Object("a", parenttest.AtVersion("12"))
	if got := p.Newest(cached); got != cached {
		t.Errorf("got version %s without content, want what the cache has", got.GetResourceVersion())
	}
}
