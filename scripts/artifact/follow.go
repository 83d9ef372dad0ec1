package artifact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/runtime/watchset"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
)

// Key identifies files: those below a folder of the artifact of an object.
type Key struct {
	objectwatch.Name
	// Folder is slash-separated; empty is the artifact's root.
	Folder string
}

// Contents is what is known of the files of a key. It never changes once made.
type Contents struct {
	// Synced is true once it is known whether the object exists, and its artifact was fetched or could not be.
	Synced bool
	// Files are by path. They are nil if there is no such object.
	Files map[string]string
	// Revision is that of the files, as Artifact has it.
	Revision string
	// Err is why the files can't be had, or nil.
	Err error
	// Object is the object.
	Object objectwatch.Snapshot
}

// Set holds the followed artifacts, each once.
type Set = watchset.Set[Key, Contents]

// Watch is one user's handle on an artifact.
type Watch = watchset.Watch[Contents]

// New returns an empty Set that watches objects through client, and fetches their artifacts.
func New(client dynamic.Interface, fetcher *Fetcher, log logr.Logger) *Set {
	objects := objectwatch.NewCustom(client, customs(), log)
	return watchset.New(func(ctx context.Context, key Key, entry *watchset.Entry[Contents]) {
		wake := make(chan struct{}, 1)
		object := objects.Open(key.Name, func() {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
		defer object.Close()
		f := &follower{key: key, fetcher: fetcher, read: object.Read, log: log, publish: func(c Contents) {
			entry.Change(func(now *Contents) { *now = c })
		}}
		f.run(ctx, wake)
	})
}

// Delays before a fetch that failed is tried again.
const (
	firstDelay = time.Second
	maxDelay   = time.Minute
)

// follower keeps the files of one key up to date.
type follower struct {
	key     Key
	fetcher *Fetcher
	read    func() objectwatch.Snapshot
	log     logr.Logger
	publish func(Contents)

	// files are those of an artifact that was fetched, and size their bytes.
	files   map[string]string
	size    int
	fetched Artifact
	// failed is the artifact that could not be fetched last, err why, again when it is tried again, or zero, and delay for how long it waits.
	failed Artifact
	err    error
	again  time.Time
	delay  time.Duration
}

// run follows until ctx ends. wake has an element after each change of the object.
func (f *follower) run(ctx context.Context, wake <-chan struct{}) {
	defer func() { _ = f.fetcher.hold(f.key.Namespace, -f.size) }()
	for {
		f.update(ctx)
		var retry <-chan time.Time
		if !f.again.IsZero() {
			retry = time.After(time.Until(f.again))
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-retry:
		}
	}
}

// update publishes what the object says now, once its artifact is here.
func (f *follower) update(ctx context.Context) {
	object := f.read()
	wanted := artifactOf(object.Data)
	c := Contents{Synced: object.Synced || object.AccessErr != nil, Object: object, Revision: wanted.Revision}
	if object.AccessErr == nil && wanted.URL != "" {
		if !f.obtain(ctx, wanted) {
			return // There is news already.
		}
		c.Files, c.Err = f.files, f.err
	} else {
		f.settle()
		if c.Err = object.AccessErr; c.Err == nil && object.Data != nil {
			c.Err = errNone
		}
	}
	if ctx.Err() == nil {
		f.publish(c)
	}
}

// obtain fetches an artifact unless it was fetched, or waits to be fetched again. It returns false if the object has changed since.
func (f *follower) obtain(ctx context.Context, wanted Artifact) bool {
	wanted.Revision = ""
	switch {
	case wanted.Digest == f.fetched.Digest && f.files != nil:
		f.settle()
		return true
	case wanted == f.failed && (f.again.IsZero() || time.Now().Before(f.again)):
		return true
	case wanted != f.failed:
		f.delay = 0
	}
	files, err := f.fetcher.fetch(ctx, wanted, f.key.Folder)
	size := 0
	for _, text := range files {
		size += len(text)
	}
	if err == nil {
		err = f.fetcher.hold(f.key.Namespace, size-f.size)
	}
	if err == nil {
		f.files, f.size, f.fetched = files, size, wanted
		f.settle()
		return true
	}
	now := artifactOf(f.read().Data)
	if now.Revision = ""; now != wanted {
		return false
	}
	f.fail(wanted, err)
	return true
}

// settle notes that there is nothing to try again.
func (f *follower) settle() { f.failed, f.err, f.again, f.delay = Artifact{}, nil, time.Time{}, 0 }

// fail notes why an artifact could not be fetched.
func (f *follower) fail(wanted Artifact, err error) {
	f.failed, f.err, f.again = wanted, err, time.Time{}
	if permanent := (permanentError{}); !errors.As(err, &permanent) {
		f.delay = min(max(firstDelay, 2*f.delay), maxDelay)
		f.again = time.Now().Add(f.delay)
		f.err = fmt.Errorf("%w: it is tried again, at least every %s", err, maxDelay)
	}
	f.log.V(1).Info("artifact not fetched", "object", f.key.String(), "reason", err.Error())
}
