package artifact

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
)

// transport answers with an archive, or an error if there is none, and counts.
type transport struct {
	packed atomic.Pointer[[]byte]
	calls  atomic.Int32
}

func (s *transport) RoundTrip(*http.Request) (*http.Response, error) {
	s.calls.Add(1)
	packed := s.packed.Load()
	if packed == nil {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(*packed))}, nil
}

// followed is a follower of one object, in a bubble.
type followed struct {
	server *transport
	object objectwatch.Snapshot
	wake   chan struct{}
	f      *follower

	mu  sync.Mutex // The race detector does not see that the time of a bubble passes between what two goroutines do.
	got []Contents
}

func follow(t *testing.T) *followed {
	t.Helper()
	d := &followed{server: &transport{}, wake: make(chan struct{}, 1)}
	key := Key{Name: objectwatch.Name{Kind: "GitRepository", Namespace: "a", Name: "hooks"}}
	d.f = &follower{
		key: key, fetcher: NewFetcher([]string{"flux"}, d.server), read: func() objectwatch.Snapshot { return d.object }, log: logr.Discard(),
		publish: func(c Contents) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.got = append(d.got, c)
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	go d.f.run(ctx, d.wake)
	t.Cleanup(func() {
		cancel()
		synctest.Wait()
		if len(d.f.fetcher.held) != 0 {
			t.Errorf("%v is held at the end", d.f.fetcher.held)
		}
	})
	synctest.Wait()
	return d
}

// set makes the object have an artifact.
func (d *followed) set(packed []byte, revision string) {
	d.change(objectwatch.Snapshot{Synced: true, Data: map[string]string{urlKey: "http://flux/" + revision, digestKey: digestOf(packed), revisionKey: revision}})
}

func (d *followed) change(object objectwatch.Snapshot) {
	d.object = object
	d.wake <- struct{}{}
	synctest.Wait()
}

func (d *followed) all() []Contents {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.got)
}

func (d *followed) last() Contents {
	all := d.all()
	return all[len(all)-1]
}

// TestFollow goes through what happens to an object and its artifact.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := follow(t)
		expect := func(what string, files int, revision, problem string, calls int32) {
			t.Helper()
			c := d.last()
			text := ""
			if c.Err != nil {
				text = c.Err.Error()
			}
			if len(c.Files) != files || c.Revision != revision || !strings.Contains(text, problem) || (problem == "") != (text == "") || d.server.calls.Load() != calls {
				t.Fatalf("%s: %d files of %q, problem %q, %d fetches; want %d of %q, %q, %d", what, len(c.Files), c.Revision, text, d.server.calls.Load(), files, revision, problem, calls)
			}
		}
		if d.last().Synced {
			t.Fatal("it is synced before the object is")
		}
		d.change(objectwatch.Snapshot{Synced: true})
		expect("no object", 0, "", "", 0)
		d.change(objectwatch.Snapshot{Synced: true, Data: map[string]string{}})
		expect("no artifact", 0, "", "has no artifact yet", 0)

		one, two := archived(t, "a.js", "1"), archived(t, "a.js", "1", "b.js", "2")
		d.set(one, "r1")
		expect("the server is down", 0, "r1", "connection refused: see whether", 1)
		d.set(one, "r1")
		expect("a change of something else asks for nothing", 0, "r1", "tried again", 1)
		time.Sleep(firstDelay - 1)
		synctest.Wait()
		expect("it waits", 0, "r1", "tried again", 1)
		d.server.packed.Store(&one)
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		expect("it is tried again", 1, "r1", "", 2)
		d.set(one, "r2")
		expect("another revision of the same files", 1, "r2", "", 2)

		d.set(two, "r3")
		expect("wrong bytes", 1, "r3", "has not the digest", 3)
		for range 20 {
			time.Sleep(maxDelay)
			synctest.Wait()
		}
		if n := d.server.calls.Load(); n < 23 || n > 30 {
			t.Errorf("%d fetches in %s, want about one a minute", n, 20*maxDelay)
		}
		calls := d.server.calls.Load()
		d.set(one, "r2")
		expect("the last good one is there again", 1, "r2", "", calls)
		time.Sleep(time.Hour)
		synctest.Wait()
		expect("nothing is tried any more", 1, "r2", "", calls)

		up := archived(t, "../a.js", "1")
		d.server.packed.Store(&up)
		d.set(up, "r4")
		time.Sleep(time.Hour)
		synctest.Wait()
		expect("what can't get better is not tried again", 1, "r4", "no path of a file", calls+1)
		d.server.packed.Store(&two)
		d.set(two, "r3")
		expect("a new one is fetched at once", 2, "r3", "", calls+2)
		d.change(objectwatch.Snapshot{Synced: true, Data: d.object.Data, AccessErr: errors.New("forbidden")})
		expect("no access", 0, "r3", "forbidden", calls+2)
	})
}

// TestFollowNewer does not report a failure that a newer artifact has overtaken.
func TestFollowNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := follow(t)
		one, two := archived(t, "a.js", "1"), archived(t, "a.js", "2")
		d.server.packed.Store(&two)
		before := len(d.all())
		newer := false
		d.f.read = func() objectwatch.Snapshot { // The object changes while the first artifact is fetched.
			if d.server.calls.Load() > 0 && !newer {
				newer = true
				d.wake <- struct{}{}
			}
			if newer {
				return objectwatch.Snapshot{Synced: true, Data: map[string]string{urlKey: "http://flux/two", digestKey: digestOf(two)}}
			}
			return objectwatch.Snapshot{Synced: true, Data: map[string]string{urlKey: "http://flux/one", digestKey: digestOf(one)}}
		}
		d.wake <- struct{}{}
		synctest.Wait()
		if c := d.last(); len(d.all()) != before+1 || c.Err != nil || c.Files["a.js"] != "2" {
			t.Errorf("got %v, want the files of the newer one", c)
		}
	})
}
