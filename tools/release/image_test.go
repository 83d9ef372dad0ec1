package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// checkImage sends the image of the programs to a registry, with them as those of a second platform, too, and looks at what it has then.
func checkImage(t *testing.T, programs, revision string) {
	t.Helper()
	other := platform{"linux", "other"}
	if err := os.CopyFS(other.folder(programs), os.DirFS(own.folder(programs))); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "layout")
	c := commit{revision, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if _, err := writeLayout("v1.2.3", c, programs, folder, []platform{own, other}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	var out bytes.Buffer
	tag := strings.TrimPrefix(server.URL, "http://") + "/libretto:v1.2.3"
	if err := run(t.Context(), &out, []string{"push", folder, tag}); err != nil {
		t.Fatal(err)
	}
	index := pull(t, tag)
	digest, err := index.Digest()
	if want := strings.Replace(tag, ":v1.2.3", "@"+digest.String(), 1) + "\n"; err != nil || out.String() != want {
		t.Errorf("%v; it says %q, want %q", err, out.String(), want)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 || manifest.MediaType != types.OCIImageIndex {
		t.Fatalf("%v; it has %+v", err, manifest)
	}
	for i, p := range []platform{own, other} {
		d := manifest.Manifests[i]
		if d.Platform.OS != p.OS || d.Platform.Architecture != p.Arch || d.MediaType != types.OCIManifestSchema1 {
			t.Errorf("%s: it has %+v", p, d)
		}
		image, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkConfig(t, image, p, revision)
		checkLayers(t, image, p.folder(programs))
	}
}

// pull returns an image of a registry. All of its digests and sizes are right.
func pull(t *testing.T, tag string) v1.ImageIndex {
	t.Helper()
	reference, err := name.ParseReference(tag)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	return index
}

func checkConfig(t *testing.T, image v1.Image, p platform, revision string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != p.OS || config.Architecture != p.Arch || config.Created.Format(time.RFC3339) != "2026-01-02T03:04:05Z" {
		t.Errorf("it is for %s/%s of %s", config.OS, config.Architecture, config.Created)
	}
	want := v1.Config{
		User: "65532:65532", Entrypoint: []string{"/usr/bin/libretto"}, WorkingDir: "/", Env: []string{"PATH=/usr/bin"},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "libretto",
			"org.opencontainers.image.description": "Hosts Kubernetes controllers whose behaviour is a script",
			"org.opencontainers.image.source":      "https://github.com/libretto-k8s/libretto",
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.version":     "v1.2.3",
			"org.opencontainers.image.revision":    revision,
			"org.opencontainers.image.created":     "2026-01-02T03:04:05Z",
		},
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Error(diff)
	}
}

// checkLayers checks what the image has of files: the programs as they are, and certificates, all of the commit's time.
func checkLayers(t *testing.T, image v1.Image, programs string) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]file{}
	for _, layer := range layers {
		compressed, err := layer.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(compressed)
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range unpack(t, text) {
			if f.uid != 0 || f.gid != 0 || f.mode&0o022 != 0 && f.link == "" || f.at.Format(time.RFC3339) != "2026-01-02T03:04:05Z" {
				t.Errorf("%s is of %d:%d with mode %o, of %s", name, f.uid, f.gid, f.mode, f.at)
			}
			files[name] = f
		}
	}
	for _, name := range names {
		if f := files["usr/bin/"+name]; f.text != string(read(t, filepath.Join(programs, name))) || f.mode != 0o755 {
			t.Errorf("%s has %d bytes and mode %o", name, len(f.text), f.mode)
		}
	}
	for _, name := range []string{licenseName, licensesName} {
		if text := files[docFolder+name].text; text == "" || text != string(read(t, filepath.Join(programs, name))) {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
	if link := files["usr/bin/metacontroller"].link; link != "libretto" {
		t.Errorf("metacontroller is a link to %q", link)
	}
	rest, count := []byte(files[rootsPath].text), 0
	for block := (*pem.Block)(nil); ; count++ {
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err != nil || !certificate.IsCA {
			t.Errorf("certificate %d: %v", count, err)
		}
	}
	if count < 100 {
		t.Errorf("there are %d certificates", count)
	}
}
