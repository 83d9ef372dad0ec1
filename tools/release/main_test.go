package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const manifest = "../../manifests/krew/libretto.yaml"

// plugin has the fields that krew documents for manifests.
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Homepage         string `json:"homepage"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			SHA256 string `json:"sha256"`
			Bin    string `json:"bin"`
			Files  []struct {
				From string `json:"from"`
				To   string `json:"to"`
			} `json:"files"`
		} `json:"platforms"`
	} `json:"spec"`
}

// programs writes the files of some platforms into a folder.
func programs(t *testing.T, platforms ...string) string {
	t.Helper()
	directory := t.TempDir()
	for _, platform := range platforms {
		for _, entry := range contents {
			path := filepath.Join(directory, platform, entry.name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(entry.name+" of "+platform), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return directory
}

// TestPack checks that the manifest has the fields that krew wants, and that they fit the archives.
func TestPack(t *testing.T) {
	platforms := []string{"linux/amd64", "darwin/arm64"}
	directory := programs(t, platforms...)
	if err := run(append([]string{"pack", "v1.2.3", directory, manifest}, platforms...)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(directory, "libretto.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var p plugin
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Metadata.Name != "libretto" || p.Spec.Version != "v1.2.3" {
		t.Errorf("header: %+v", p)
	}
	if short := p.Spec.ShortDescription; short == "" || len(short) > 60 || strings.ContainsAny(short, "\n") {
		t.Errorf("shortDescription: %q", short)
	}
	if len(p.Spec.Platforms) != len(platforms) {
		t.Fatalf("platforms: %+v", p.Spec.Platforms)
	}
	for i, platform := range p.Spec.Platforms {
		system, arch, _ := strings.Cut(platforms[i], "/")
		if labels := platform.Selector.MatchLabels; labels["os"] != system || labels["arch"] != arch || len(labels) != 2 {
			t.Errorf("selector: %v", labels)
		}
		name := filepath.Base(platform.URI)
		archive, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(archive)); sum != platform.SHA256 || !regexp.MustCompile(`^[a-f0-9]{64}$`).MatchString(sum) {
			t.Errorf("%s: sha256 %s, want %s", name, platform.SHA256, sum)
		}
		files := unpack(t, archive)
		for _, f := range platform.Files {
			if f.To == "" || files[f.From] != f.From+" of "+platforms[i] {
				t.Errorf("%s: file %+v is %q", name, f, files[f.From])
			}
		}
		if len(files) != len(platform.Files) || files[platform.Bin] == "" {
			t.Errorf("%s has %v, and the manifest %+v", name, files, platform)
		}
	}
}

// unpack returns the files of an archive.
func unpack(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files, reader := map[string]string{}, tar.NewReader(zipped)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if isProgram := header.Mode&0o111 != 0; isProgram != (header.Name != "LICENSE") {
			t.Errorf("%s has mode %o", header.Name, header.Mode)
		}
		files[header.Name] = string(text)
	}
}

// TestSameArchive checks that the same files make the same archive.
func TestSameArchive(t *testing.T) {
	directory := programs(t, "linux/amd64")
	first, err := compress(filepath.Join(directory, "linux", "amd64"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := compress(filepath.Join(programs(t, "linux/amd64"), "linux", "amd64"))
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("it differs the second time: %v", err)
	}
}

func TestVersions(t *testing.T) {
	for version, valid := range map[string]bool{
		"v1.2.3": true, "v0.1.0-rc.1": true, "1.2.3": false, "v1.2": false, "v01.2.3": false, "85de551-dirty": false, "": false,
	} {
		if err := run([]string{"check", version}); (err == nil) != valid {
			t.Errorf("%q is a version: %v, want %v", version, err == nil, valid)
		}
	}
	if err := run([]string{"pack", "v1.2.3", t.TempDir(), manifest, "linux/amd64"}); err == nil {
		t.Error("programs that are missing are no error")
	}
}
