package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	source  = "https://github.com/libretto-k8s/libretto"
	license = "Apache-2.0"
	// user is nobody's in particular: manifests/host has it, too.
	user = "65532:65532"
	// rootsPath is where crypto/x509 looks for certificates first.
	rootsPath = "etc/ssl/certs/ca-certificates.crt"
)

// writeLayout writes the image of some platforms as an OCI layout, and returns the digest of its index.
func writeLayout(version string, c commit, programs, folder string, platforms []platform) (v1.Hash, error) {
	index, labels := mutate.IndexMediaType(empty.Index, types.OCIImageIndex), labelsOf(version, c)
	for _, p := range platforms {
		image, err := imageOf(p, p.folder(programs), c.time, labels)
		if err != nil {
			return v1.Hash{}, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.OS, Architecture: p.Arch}},
		})
	}
	index = mutate.Annotations(index, labels).(v1.ImageIndex) //nolint:forcetypeassert // It returns the type that it is given.
	if err := os.RemoveAll(folder); err != nil {
		return v1.Hash{}, err
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version})); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}

// printDigest returns what prints the digest of a layout, if there was no error.
func printDigest(out io.Writer, folder string) func(v1.Hash, error) error {
	return func(digest v1.Hash, err error) error {
		if err == nil {
			_, err = fmt.Fprintln(out, folder, digest)
		}
		return err
	}
}

// labelsOf returns what the image says of itself.
func labelsOf(version string, c commit) map[string]string {
	const prefix = "org.opencontainers.image."
	labels := map[string]string{
		prefix + "title": names[0], prefix + "description": "Hosts Kubernetes controllers whose behaviour is a script",
		prefix + "source": source, prefix + "licenses": license, prefix + "version": version, prefix + "created": c.time.Format(time.RFC3339),
	}
	if c.revision != "" {
		labels[prefix+"revision"] = c.revision
	}
	return labels
}

// imageOf returns the image of one platform: certificates, which change rarely, and programs.
func imageOf(p platform, folder string, at time.Time, labels map[string]string) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	addenda := make([]mutate.Addendum, 0, 2)
	for _, entries := range [][]entry{certificates(), programsOf(folder)} {
		layer, err := layerOf(at, entries)
		if err != nil {
			return nil, err
		}
		addenda = append(addenda, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: at}, CreatedBy: "tools/release"}})
	}
	image, err := mutate.Append(image, addenda...)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.OS, p.Arch, v1.Time{Time: at}
	config.Config = v1.Config{
		User: user, Entrypoint: []string{"/usr/bin/" + names[0]}, WorkingDir: "/", Env: []string{"PATH=/usr/bin"}, Labels: labels,
	}
	return mutate.ConfigFile(image, config)
}

// certificates returns the root certificates of Mozilla, without those that are trusted up to a date only: a file of certificates can't say
// that.
func certificates() []entry {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // A buffer takes all.
		}
	}
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: rootsPath, mode: 0o644, text: roots.Bytes()},
	}
}

// docFolder is the folder of the image with the licenses.
const docFolder = "usr/share/doc/libretto/"

// programsOf returns the programs of a folder, and their licenses. Metacontroller's manifests look for the link, and under that name the
// program serves without a command.
func programsOf(folder string) []entry {
	entries := []entry{{name: "usr/", mode: 0o755}, {name: "usr/bin/", mode: 0o755}}
	for _, name := range names {
		entries = append(entries, entry{name: "usr/bin/" + name, mode: 0o755, path: filepath.Join(folder, name)})
	}
	entries = append(entries, entry{name: "usr/bin/metacontroller", mode: 0o777, link: names[0]})
	for _, parent := range []string{"usr/share/", "usr/share/doc/", docFolder} {
		entries = append(entries, entry{name: parent, mode: 0o755})
	}
	return append(entries, licenseEntries(folder, docFolder)...)
}

// layerOf returns a layer of entries.
func layerOf(at time.Time, entries []entry) (v1.Layer, error) {
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		from, to := io.Pipe()
		go func() { to.CloseWithError(writeTar(to, at, entries)) }()
		return from, nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
}

// push sends the image of a layout to a registry, with the credentials of docker login.
func push(ctx context.Context, out io.Writer, folder, to string) error {
	tag, err := name.NewTag(to)
	if err != nil {
		return err
	}
	top, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return err
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return err
	}
	if len(manifest.Manifests) != 1 {
		return fmt.Errorf("%s has %d images, want 1", folder, len(manifest.Manifests))
	}
	digest := manifest.Manifests[0].Digest
	index, err := top.ImageIndex(digest)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(tag, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, tag.Digest(digest.String()))
	return err
}
