package push

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/scripts/bundle"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{Command}

// write writes files, by path and text in turn, and returns their folder.
func write(t *testing.T, pathsAndTexts ...string) string {
	t.Helper()
	folder := t.TempDir()
	for i := 0; i < len(pathsAndTexts); i += 2 {
		name := filepath.Join(folder, pathsAndTexts[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(pathsAndTexts[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// images is a registry in memory, as far as images are pushed to it whole. It takes no manifest of blobs that it does not have.
type images struct {
	mu    sync.Mutex
	parts map[string][]byte // by path
}

func (s *images) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	repository, upload, isUpload := strings.Cut(r.URL.Path, "/blobs/uploads/")
	body, err := io.ReadAll(r.Body)
	at, part := r.URL.Path, s.parts[r.URL.Path]
	if isUpload && upload != "" {
		at = repository + "/blobs/" + r.URL.Query().Get("digest")
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case isUpload && r.Method == http.MethodPost:
		w.Header().Set("Location", r.URL.Path+"1")
		w.WriteHeader(http.StatusAccepted)
	case isUpload && r.URL.Query().Get("digest") != digest.FromBytes(body).String():
		http.Error(w, "it has another digest", http.StatusBadRequest)
	case r.Method == http.MethodPut:
		var manifest ocispec.Manifest
		if !isUpload && json.Unmarshal(body, &manifest) == nil {
			folder, _, _ := strings.Cut(at, "/manifests/")
			for _, d := range append(manifest.Layers, manifest.Config) {
				if int64(len(s.parts[folder+"/blobs/"+d.Digest.String()])) != d.Size {
					http.Error(w, "there is no "+d.Digest.String(), http.StatusNotFound)
					return
				}
			}
		}
		s.parts[at] = body
		w.WriteHeader(http.StatusCreated)
	case part == nil:
		http.NotFound(w, r)
	default:
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(part).String())
		w.Header().Set("Content-Length", strconv.Itoa(len(part)))
		_, _ = w.Write(part)
	}
}

// newRegistry returns a registry that only a user may write to, whom the Docker configuration knows.
func newRegistry(t *testing.T, config string) (server *httptest.Server, host string) {
	t.Helper()
	inner := &images{parts: map[string][]byte{}}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); r.Method != http.MethodGet && (user != "u" || password != "p") || r.URL.Path == "/v2/" && user == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host = strings.TrimPrefix(server.URL, "http://")
	folder := write(t, "config.json", strings.ReplaceAll(config, "HOST", host))
	t.Setenv("DOCKER_CONFIG", folder)
	return server, host
}

const known = `{"auths": {"HOST": {"auth": "dTpw"}}}`

// get reads what is in a registry.
func get(t *testing.T, address string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v: %s", address, response.Status, err, text)
	}
	return text
}

// TestPush pushes a folder twice, and reads it back as Flux and as a container runtime do.
func TestPush(t *testing.T) {
	server, host := newRegistry(t, known)
	files := []string{"sync.js", "export const sync = () => ({});", "lib/deep/a.js", "let x", ".git/config", "secret", "old.js~", "x"}
	push := func(tag, folder string) string {
		t.Helper()
		code, stdout, stderr := program.Run(t, "", "push", "oci://"+host+"/acme/hooks:"+tag, folder, "--plain-http",
			"--source", "https://example.com/hooks", "--revision", "main@sha1:1234")
		if code != 0 || stderr != "2 files, 1 KiB packed\n" {
			t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
		}
		address, sum, _ := strings.Cut(strings.TrimSpace(stdout), "@")
		if want := "oci://" + host + "/acme/hooks:" + tag; address != want {
			t.Errorf("%s was pushed, want %s", address, want)
		}
		return sum
	}
	first := push("v1", write(t, files...))
	if again := push("v2", write(t, files...)); again != first {
		t.Errorf("the same files are %s and %s", first, again)
	}

	var manifest ocispec.Manifest
	if err := json.Unmarshal(get(t, server.URL+"/v2/acme/hooks/manifests/v1"), &manifest); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"org.opencontainers.image.created": "1970-01-01T00:00:00Z", "org.opencontainers.image.source": "https://example.com/hooks",
		"org.opencontainers.image.revision": "main@sha1:1234",
	}
	if diff := cmp.Diff(want, manifest.Annotations); diff != "" || len(manifest.Layers) != 1 ||
		manifest.Config.MediaType != "application/vnd.oci.image.config.v1+json" || manifest.Layers[0].MediaType != "application/vnd.oci.image.layer.v1.tar+gzip" {
		t.Fatalf("the manifest is %+v\n%s", manifest, diff)
	}
	layer := get(t, fmt.Sprintf("%s/v2/acme/hooks/blobs/%s", server.URL, manifest.Layers[0].Digest))
	got, err := bundle.Unpack(string(layer))
	if diff := cmp.Diff(map[string]string{files[0]: files[1], files[2]: files[3]}, got); diff != "" || err != nil {
		t.Errorf("the layer: %v\n%s", err, diff)
	}
	var config ocispec.Image
	if err := json.Unmarshal(get(t, fmt.Sprintf("%s/v2/acme/hooks/blobs/%s", server.URL, manifest.Config.Digest)), &config); err != nil {
		t.Fatal(err)
	}
	expanded, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(expanded)
	if err != nil || len(config.RootFS.DiffIDs) != 1 || config.RootFS.DiffIDs[0] != config.RootFS.DiffIDs[0].Algorithm().FromBytes(text) || config.OS != "linux" {
		t.Errorf("the config %+v is not that of the layer: %v", config, err)
	}
	header, err := tar.NewReader(bytes.NewReader(text)).Next()
	if err != nil || header.Mode != 0o644 {
		t.Errorf("the first file is %+v: %v, want it readable by any user", header, err)
	}
}

// TestPushRefuses says why nothing is pushed.
func TestPushRefuses(t *testing.T) {
	_, host := newRegistry(t, known)
	good := write(t, "sync.js", "x")
	linked := write(t, "sync.js", "x")
	if err := os.Symlink("/etc/passwd", filepath.Join(linked, "passwd.js")); err != nil {
		t.Fatal(err)
	}
	definition := filepath.Join(write(t, "definition.yaml", "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: CompositeController\nmetadata: {name: a}\n"+
		"spec:\n  parentResource: {apiVersion: v1, resource: configmaps}\n  generateSelector: true\n"+
		"  scriptSources: [{flux: {kind: OCIRepository, namespace: a, name: hooks}}]\n  hooks: {sync: {version: v2, script: {path: sync.js}}}\n"), "definition.yaml")
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no folder":       {[]string{"oci://" + host + "/a:v1"}, 2, "name the image and the folder"},
		"no scheme":       {[]string{host + "/a:v1", good}, 2, "must be oci://HOST/REPOSITORY:TAG"},
		"no tag":          {[]string{"oci://" + host + "/a", good}, 2, "must be oci://HOST/REPOSITORY:TAG"},
		"a digest":        {[]string{"oci://" + host + "/a@sha256:" + strings.Repeat("0", 64), good}, 2, "must be oci://HOST/REPOSITORY:TAG"},
		"missing folder":  {[]string{"oci://" + host + "/a:v1", good + "/none"}, 2, "there are no files"},
		"a link":          {[]string{"oci://" + host + "/a:v1", linked}, 2, "passwd.js is a link that leads nowhere"},
		"too large":       {[]string{"oci://" + host + "/a:v1", write(t, "a.js", strings.Repeat("x", bundle.MaxBytes+1))}, 2, "more than 16 MiB"},
		"no registry":     {[]string{"oci://127.0.0.1:1/a:v1", good}, 2, "see whether the address is right"},
		"broken scripts":  {[]string{"oci://" + host + "/a:v1", good, "-f", definition, "--scripts", "OCIRepository/a/hooks=" + good}, 1, "sync.js"},
		"unnamed scripts": {[]string{"oci://" + host + "/a:v1", good, "-f", definition}, 1, "--scripts OCIRepository/a/hooks=DIRECTORY"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := program.Run(t, "", append([]string{"push", "--plain-http"}, tc.args...)...)
			if code != tc.code || stdout != "" || !strings.Contains(stderr, tc.want) {
				t.Errorf("exit code %d, want %d; no %q in: %s%s", code, tc.code, tc.want, stdout, stderr)
			}
		})
	}
	newRegistry(t, `{}`)
	if code, _, stderr := program.Run(t, "", "push", "--plain-http", "oci://"+host+"/a:v1", good); code != 2 || !strings.Contains(stderr, "docker login "+host) {
		t.Errorf("without credentials: exit code %d: %s", code, stderr)
	}
}
