package scripts

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"

	"github.com/libretto-k8s/libretto/scripts/directory"
)

// watches holds the sources that open trees name. Each is watched once, a ConfigMap
// as a single object, for as long as some tree names it: nobody needs the right
// to see all ConfigMaps of a namespace.
type watches struct {
	client kubernetes.Interface
	root   string // of directories
	log    logr.Logger

	mu       sync.Mutex
	byOrigin map[Origin]*watched
}

func newWatches(client kubernetes.Interface, root string, log logr.Logger) *watches {
	return &watches{client: client, root: root, log: log, byOrigin: map[Origin]*watched{}}
}

// take joins the watches of those sources, starting what is not there yet. From
// then on, wake is sent to after every change, but never waited for.
func (w *watches) take(origins map[Origin]struct{}, wake chan struct{}) map[Origin]*watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := map[Origin]*watched{}
	for origin := range origins {
		if w.byOrigin[origin] == nil {
			w.byOrigin[origin] = w.start(origin)
		}
		taken[origin] = w.byOrigin[origin]
		taken[origin].join(wake)
	}
	return taken
}

// drop leaves watches that were taken, and stops those that nobody else has.
func (w *watches) drop(taken map[Origin]*watched, wake chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for origin, m := range taken {
		if m.leave(wake) == 0 {
			m.stop()
			delete(w.byOrigin, origin)
		}
	}
}

func (w *watches) start(origin Origin) *watched {
	ctx, cancel := context.WithCancel(context.Background())
	m := &watched{origin: origin, stop: cancel, wakes: map[chan struct{}]struct{}{}}
	if origin.Directory != "" {
		go w.followDirectory(ctx, m)
	} else {
		go w.watchConfigMap(ctx, m)
	}
	return m
}

// followDirectory keeps m up to date with a directory until ctx ends.
func (w *watches) followDirectory(ctx context.Context, m *watched) {
	follower := directory.Follower{Root: w.root, Folder: m.origin.Directory, Log: w.log, Changed: func(c directory.Contents) {
		m.change(func(r *reading) { *r = reading{answered: true, files: c.Files, flaws: c.Flaws, refusal: c.Err} })
	}}
	follower.Run(ctx)
}
