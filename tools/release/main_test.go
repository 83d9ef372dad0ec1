package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

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

// checkout writes a module with the two programs to a folder, beside what a release takes of the real one, and returns the commit of it.
func checkout(t *testing.T, folder string) string {
	t.Helper()
	krew, err := os.ReadFile("../../" + krewManifest)
	if err != nil {
		t.Fatal(err)
	}
	program := "package main\n\nvar version, commit string\n\nfunc main() { println(version, commit) }\n"
	for name, text := range map[string]string{
		"go.mod": "module example.com/a\n\ngo 1.26\n", "LICENSE": "a license", ".gitignore": "/bin/\n",
		"cmd/libretto/main.go": program, "cmd/libretto-worker/main.go": program,
		krewManifest:                       string(krew),
		baseFolder + "/kustomization.yaml": "resources: [pod.yaml]\n",
		baseFolder + "/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n" +
			"spec: {containers: [{name: a, image: \"" + imageName + ":latest\"}]}\n",
		chartFolder + "/Chart.yaml":       "apiVersion: v2\nname: libretto\nversion: 0.0.0\nappVersion: v0.0.0\n",
		chartFolder + "/templates/a.yaml": "a: b\n",
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, folder, "init", "-q")
	git(t, folder, "add", ".")
	git(t, folder, "commit", "-q", "-m", "a")
	return git(t, folder, "rev-parse", "HEAD")
}

// git runs git, whose commits are all of one time.
func git(t *testing.T, folder string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// own is the platform of the tests: others would compile the standard library.
var own = platform{"linux", runtime.GOARCH}

// TestRelease makes a release of one commit in two folders. All files are the same, and fit one another.
func TestRelease(t *testing.T) {
	var outputs [2]string
	folders := [2]string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "another", "folder")}
	revision := checkout(t, folders[0])
	git(t, folders[0], "worktree", "add", "-q", folders[1])
	for i, folder := range folders {
		var out bytes.Buffer
		if err := writeAll(t.Context(), &out, folder, "v1.2.3", []string{own.String()}); err != nil {
			t.Fatal(err)
		}
		outputs[i] = strings.ReplaceAll(out.String(), folder, "FOLDER")
	}
	if outputs[0] != outputs[1] || !strings.Contains(outputs[0], imageFolder+" sha256:") {
		t.Errorf("the same commit makes %q", outputs)
	}
	dist := filepath.Join(folders[0], distFolder)
	if diff := cmp.Diff(filesOf(t, dist), filesOf(t, filepath.Join(folders[1], distFolder))); diff != "" {
		t.Errorf("the folder makes a difference:\n%s", diff)
	}
	if diff := cmp.Diff(filesOf(t, filepath.Join(folders[0], imageFolder)), filesOf(t, filepath.Join(folders[1], imageFolder))); diff != "" {
		t.Errorf("the folder makes a difference to the image:\n%s", diff)
	}
	_, digest, _ := strings.Cut(strings.TrimSpace(outputs[0]), imageFolder+" ")
	image := "image: ghcr.io/libretto-k8s/libretto:v1.2.3@" + digest + "\n"
	if install := string(read(t, filepath.Join(dist, "install.yaml"))); !strings.Contains(install, image) {
		t.Errorf("what is installed has no %s:\n%s", image, install)
	}
	host := exec.CommandContext(t.Context(), filepath.Join(own.folder(filepath.Join(folders[0], programsFolder)), "libretto"))
	if said, err := host.CombinedOutput(); err != nil || string(said) != "v1.2.3 "+revision+"\n" {
		t.Errorf("%v; the program says that it is %q", err, said)
	}
	t.Run("checksums", func(t *testing.T) { checkSums(t, dist) })
	t.Run("krew", func(t *testing.T) { checkPlugin(t, dist) })
	t.Run("chart", func(t *testing.T) { checkChart(t, filepath.Join(dist, "libretto-1.2.3.tgz")) })
	t.Run("materials", func(t *testing.T) {
		checkMaterials(t, filepath.Join(dist, "libretto_v1.2.3_linux_"+own.Arch+".cdx.json"))
	})
	t.Run("image", func(t *testing.T) { checkImage(t, filepath.Join(folders[0], programsFolder), revision) })
}

// filesOf returns the files below a folder with their checksums.
func filesOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files[name] = fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join(folder, name))))
		return nil
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files in %s: %v", len(files), folder, err)
	}
	return files
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func checkSums(t *testing.T, dist string) {
	t.Helper()
	want := filesOf(t, dist)
	delete(want, "SHA256SUMS")
	got := map[string]string{}
	for line := range strings.Lines(string(read(t, filepath.Join(dist, "SHA256SUMS")))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		got[name] = sum
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// checkPlugin checks that the manifest has the fields that krew wants, and that they fit the archive.
func checkPlugin(t *testing.T, dist string) {
	t.Helper()
	text := read(t, filepath.Join(dist, "libretto.yaml"))
	var p plugin
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Metadata.Name != "libretto" ||
		p.Spec.Version != "v1.2.3" {
		t.Errorf("header: %+v", p)
	}
	if short := p.Spec.ShortDescription; short == "" || len(short) > 60 || strings.ContainsAny(short, "\n") {
		t.Errorf("shortDescription: %q", short)
	}
	if len(p.Spec.Platforms) != 1 {
		t.Fatalf("platforms: %+v", p.Spec.Platforms)
	}
	one := p.Spec.Platforms[0]
	if labels := one.Selector.MatchLabels; labels["os"] != own.OS || labels["arch"] != own.Arch || len(labels) != 2 {
		t.Errorf("selector: %v", labels)
	}
	archive := read(t, filepath.Join(dist, filepath.Base(one.URI)))
	if sum := fmt.Sprintf("%x", sha256.Sum256(archive)); sum != one.SHA256 {
		t.Errorf("sha256 %s, want %s", one.SHA256, sum)
	}
	files := unpack(t, archive)
	for _, f := range one.Files {
		if f.To == "" || len(files[f.From].text) == 0 {
			t.Errorf("file %+v is not in the archive", f)
		}
	}
	if len(files) != len(one.Files) || files[one.Bin].mode&0o111 == 0 || files["LICENSE"].text != "a license" ||
		!strings.HasPrefix(files[licensesName].text, "Go\n\nCopyright ") {
		t.Errorf("it has %d files, and the manifest %+v", len(files), one)
	}
}

func checkChart(t *testing.T, path string) {
	t.Helper()
	files := unpack(t, read(t, path))
	want := "apiVersion: v2\nappVersion: v1.2.3\nname: libretto\nversion: 1.2.3\n"
	if got := files["libretto/Chart.yaml"].text; got != want || files["libretto/templates/a.yaml"].text != "a: b\n" || len(files) != 2 {
		t.Errorf("it has %v", files)
	}
}

func checkMaterials(t *testing.T, path string) {
	t.Helper()
	var bill cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(read(t, path)), cyclonedx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	main, standard := bill.Metadata.Component, (*bill.Components)[0]
	if main.PackageURL != "pkg:golang/example.com/a@v1.2.3" || bill.Metadata.Timestamp != "2026-01-02T03:04:05Z" {
		t.Errorf("it is that of %+v", bill.Metadata)
	}
	if want := "pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go"); standard.PackageURL != want || len(*bill.Components) != 1 {
		t.Errorf("components %+v, want %s", *bill.Components, want)
	}
}

// file is what an archive has of a file.
type file struct {
	text, link string
	mode       int64
	uid, gid   int
	at         time.Time
}

// unpack returns the files of a .tar.gz.
func unpack(t *testing.T, archive []byte) map[string]file {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files, reader := map[string]file{}, tar.NewReader(zipped)
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
		files[header.Name] = file{string(text), header.Linkname, header.Mode, header.Uid, header.Gid, header.ModTime.UTC()}
	}
}

// TestComponent checks what the bill has of a module.
func TestComponent(t *testing.T) {
	sum := "h1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xab}, sha256.Size))
	hash := strings.Repeat("ab", sha256.Size)
	replaced := debug.Module{Path: "a.b/c", Version: "v1.0.0", Replace: &debug.Module{Path: "d.e/f", Version: "v1.0.1"}}
	for name, c := range map[string]struct {
		module     debug.Module
		want, hash string
	}{
		"a module":      {debug.Module{Path: "example.com/A", Version: "v1.2.3", Sum: sum}, "pkg:golang/example.com/A@v1.2.3", hash},
		"build data":    {debug.Module{Path: "a.b/c", Version: "v2.0.0+incompatible"}, "pkg:golang/a.b/c@v2.0.0%2Bincompatible", ""},
		"a replacement": {replaced, "pkg:golang/d.e/f@v1.0.1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := componentOf(&c.module)
			sum := ""
			if got.Hashes != nil {
				sum = (*got.Hashes)[0].Value
			}
			if got.PackageURL != c.want || sum != c.hash {
				t.Errorf("%s with hash %q, want %s with %q", got.PackageURL, sum, c.want, c.hash)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	for version, valid := range map[string]bool{
		"v1.2.3": true, "v0.1.0-rc.1": true, "1.2.3": false, "v1.2": false, "v01.2.3": false, "85de551-dirty": false, "": false,
	} {
		if err := checkVersion(version); (err == nil) != valid {
			t.Errorf("%q is a version: %v, want %v", version, err == nil, valid)
		}
	}
	for name, args := range map[string][]string{
		"no version of a release": {"all", "1.2.3", "linux/amd64"}, "no platform": {"image", "v1.2.3", "linux"}, "nothing": nil,
		"programs that are missing": {"layout", "v1.2.3", t.TempDir(), t.TempDir(), "linux/amd64"},
	} {
		if err := run(t.Context(), io.Discard, args); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
