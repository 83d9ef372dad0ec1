// Package folder implements serve -f: the definitions that a folder of the host has, and the ConfigMaps that their scripts come from, are
// applied to the cluster, where they are held, rolled out and reported like all others.
package folder

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
	"github.com/libretto-k8s/libretto/scripts/directory"
)

// FieldManager is that of what is applied.
const FieldManager = "libretto-files"

// What could not be applied is tried again after minBackoff, then twice as long, up to maxBackoff.
const minBackoff, maxBackoff = time.Second, time.Minute

// Config is what a folder is for.
type Config struct {
	Path string
	// Namespace is that of objects without one.
	Namespace string
	// Target and Namespaces say which definitions the host hosts. Others are not applied.
	Target     labels.Selector
	Namespaces []string
	Clock      clock.Clock
	Log        logr.Logger
	// Listener may be nil.
	Listener Listener
}

// Listener is told of a folder, by two goroutines: that of Follow, and that of Apply.
type Listener interface {
	// Read is called with the files of the folder whenever they have changed, what they hold, and why they can't be applied, if they can't.
	Read(files map[string]string, set *manifest.Set, problems []error)
	// Prepare is called before what the folder holds is applied. It returns problems, with which it is tried again.
	Prepare(ctx context.Context, set *manifest.Set) []error
	// Applied is called after that, with the problems of Prepare and with why definitions are not applied.
	Applied(problems []error)
}

// Folder is a folder with definitions.
type Folder struct {
	config   Config
	changed  chan struct{}
	problems prometheus.Gauge
	// logged is what the log has of the last pass.
	logged map[string]bool

	mu  sync.Mutex
	set *manifest.Set
	err error // Why it is not applied.
}

// New returns a folder that nothing was read of. Its metric is registered.
func New(config Config, registry prometheus.Registerer) *Folder {
	f := &Folder{
		config: config, changed: make(chan struct{}, 1), err: errors.New(config.Path + " is not read yet"),
		problems: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "libretto_folder_problems",
			Help: "Why the cluster does not have what the folder of -f has: problems with its files, and definitions that are not applied.",
		}),
	}
	registry.MustRegister(f.problems)
	return f
}

// Err returns why the folder can't be applied as it is, or nil.
func (f *Folder) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// packages is the folder of installed packages, which are more than is read of a folder. Scripts have what they need of it packed.
const packages = "node_modules"

// Follow reads the folder, and again when it changes, until ctx ends.
func (f *Folder) Follow(ctx context.Context) {
	follower := directory.Follower{Root: f.config.Path, Folder: ".", Without: packages, Log: f.config.Log, Changed: func(seen directory.Contents) {
		f.read(ctx, seen)
	}}
	follower.Run(ctx)
}

// read reads the manifests of the folder, which held what was seen. If it was changed meanwhile they may be of two moments, and there is
// another event.
func (f *Folder) read(ctx context.Context, seen directory.Contents) {
	set, err := manifest.Load(ctx, manifest.Options{
		Filenames: []string{f.config.Path}, Namespace: f.config.Namespace, IsScript: standard.IsScript,
	})
	if ctx.Err() != nil || !maps.Equal(seen.Files, directory.ReadWithout(packages, f.config.Path, ".").Files) {
		return
	}
	problems := []error{cmp.Or(err, seen.Err)}
	if problems[0] == nil {
		problems = nil
		for _, problem := range set.Problems {
			problems = append(problems, problem)
		}
	}
	for _, problem := range problems {
		f.config.Log.Error(problem, "nothing of the folder is applied until this is corrected", "folder", f.config.Path)
	}
	f.problems.Set(float64(len(problems)))
	if f.config.Listener != nil {
		f.config.Listener.Read(seen.Files, set, problems)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.set, f.err = set, errors.Join(problems...)
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// Apply applies the folder, and again when it changes, until ctx ends. Only the leader calls it.
func (f *Folder) Apply(ctx context.Context, client dynamic.Interface, events record.EventRecorder) {
	ctx = identity.WithAccount(ctx, identity.Account{})
	for backoff := minBackoff; ; {
		var retry <-chan time.Time
		if set := f.readable(); set != nil {
			p := &pass{Folder: f, client: client, events: events, set: set, logged: map[string]bool{}}
			p.run(ctx)
			f.logged = p.logged
			f.problems.Set(float64(len(p.failures)))
			if len(p.failures) > 0 {
				retry, backoff = f.config.Clock.After(backoff), min(2*backoff, maxBackoff)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-f.changed:
			backoff = minBackoff
		case <-retry:
		}
	}
}

// readable returns what was read last, or nil if that can't be applied.
func (f *Folder) readable() *manifest.Set {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil
	}
	return f.set
}
