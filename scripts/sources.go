package scripts

import (
	"context"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
	"github.com/libretto-k8s/libretto/runtime/watchset"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
	"github.com/libretto-k8s/libretto/scripts/artifact"
	"github.com/libretto-k8s/libretto/scripts/bundle"
	"github.com/libretto-k8s/libretto/scripts/directory"
)

// sources holds the sources of open trees. Each is watched once, while a tree uses it.
type sources struct {
	configMaps  *objectwatch.Set
	directories *watchset.Set[string, *directory.Contents]
	artifacts   *artifact.Set // Nil without a client for them.
	expansions  expansions
}

// unpackFunc returns the files of an archive, at most that many bytes together.
type unpackFunc func(packed string, most int) (map[string]string, error)

// source is one tree's use of a watched source.
type source interface {
	// read returns what the source holds, with archives as they are.
	read() reading
	// unpacker returns what expands the archive of a ConfigMap, or nil.
	unpacker() unpackFunc
	// object returns what is known of a ConfigMap or an object of Flux, if it exists.
	object() Object
	Close()
}

// reading is the state of a source at one moment. It never changes once made.
type reading struct {
	// synced is true once it is known whether the source exists.
	synced bool
	// files is what the source holds, by key or path, and nil if there is no such source.
	files map[string]string
	// problems are about single files of a directory.
	problems []directory.Problem
	// revision is that of an artifact.
	revision string
	// err is why the source can't be watched or read, or nil.
	err error
}

// expand replaces the archives of ConfigMaps by their files, in the order of the sources. Together they may have as much as a tree: who may
// write all sources must not fill the host's memory with what they expand to.
func expand(spec Spec, readings map[Origin]reading, unpackers map[Origin]unpackFunc) {
	left := bundle.MaxBytes
	done := map[Origin]bool{}
	for _, source := range spec.Sources {
		origin := source.Origin()
		r := readings[origin]
		if _, packed := r.files[bundle.Key]; done[origin] || !packed || unpackers[origin] == nil {
			continue
		}
		done[origin] = true
		files, err := bundle.Expand(r.files, func(packed string) (map[string]string, error) {
			files, err := unpackers[origin](packed, left)
			left -= sizeOf(files)
			return files, err
		})
		if r.files = files; err != nil && r.err == nil {
			r.err = engines.InvalidError(engines.Location{}, "%s: %v: write it with libretto bundle", bundle.Key, err)
		}
		readings[origin] = r
	}
}

// newSources returns what watches the sources that the config has clients and a root for.
func newSources(config Config) *sources {
	s := &sources{
		configMaps: objectwatch.New(config.Client, config.Log),
		directories: watchset.New(func(ctx context.Context, path string, d *watchset.Entry[*directory.Contents]) {
			follower := directory.Follower{Root: config.Root, Folder: path, Log: config.Log, Changed: func(c directory.Contents) {
				d.Change(func(now **directory.Contents) { *now = &c })
			}}
			follower.Run(ctx)
		}),
	}
	if config.Artifacts != nil {
		s.artifacts = artifact.New(config.Dynamic, config.Artifacts, config.Log)
	}
	return s
}

// open watches a source as account, and calls changed after every change, until it is closed.
func (s *sources) open(origin Origin, account identity.Account, changed func()) source {
	if origin.Directory != "" {
		return directorySource{s.directories.Open(origin.Directory, changed)}
	}
	if flux := origin.Flux; flux.Kind != "" {
		name := objectwatch.Name{Kind: objectwatch.Kind(flux.Kind), Namespace: flux.Namespace, Name: flux.Name, Account: account}
		return fluxSource{s.artifacts.Open(artifact.Key{Name: name, Folder: flux.Path}, changed)}
	}
	name := objectwatch.Name{Kind: objectwatch.ConfigMap, Namespace: origin.ConfigMap.Namespace, Name: origin.ConfigMap.Name, Account: account}
	return &configMapSource{Watch: s.configMaps.Open(name, changed), expansion: s.expansions.open(name)}
}

type configMapSource struct {
	*objectwatch.Watch
	*expansion
}

func (s *configMapSource) object() Object {
	return objectOf(s.Read())
}

func objectOf(r objectwatch.Snapshot) Object {
	return Object{UID: r.UID, Version: r.ResourceVersion, Approval: ApprovalIn(r.Annotations, r.ManagedFields), Manager: r.Manager}
}

func (s *configMapSource) read() reading {
	r := s.Read()
	return reading{synced: r.Synced, files: r.Data, err: r.AccessErr}
}

func (s *configMapSource) unpacker() unpackFunc { return s.unpack }

func (s *configMapSource) Close() {
	s.Watch.Close()
	s.expansion.close()
}

type directorySource struct {
	*watchset.Watch[*directory.Contents]
}

func (directorySource) unpacker() unpackFunc { return nil }

func (directorySource) object() Object { return Object{} }

func (s directorySource) read() reading {
	c := s.Read()
	if c == nil {
		return reading{}
	}
	return reading{synced: true, files: c.Files, problems: c.Problems, err: c.Err}
}

type fluxSource struct {
	*artifact.Watch
}

func (fluxSource) unpacker() unpackFunc { return nil }

func (s fluxSource) object() Object { return objectOf(s.Read().Object) }

func (s fluxSource) read() reading {
	c := s.Read()
	return reading{synced: c.Synced, files: c.Files, revision: c.Revision, err: c.Err}
}
