package scripts_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/scripts/bundle"
	"github.com/libretto-k8s/libretto/test/env"
)

// fluxResource returns a resource of Flux.
func fluxResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: plural}
}

var (
	gitRepositories = fluxResource("gitrepositories")
	buckets         = fluxResource("buckets")
)

// installFlux applies the CustomResourceDefinition of a kind, with a status of any shape.
func installFlux(e *env.Env, kind string, resource schema.GroupVersionResource) {
	e.T.Helper()
	e.Apply(strings.ReplaceAll(env.CRD(resource.Group, kind, "Namespaced"), strings.ToLower(kind)+"s", resource.Resource))
	e.Eventually(func() error {
		_, err := e.Cluster.Dynamic().Resource(resource).Namespace(e.Namespace).List(e.T.Context(), metav1.ListOptions{})
		return err
	})
}

// sourceController stands in for Flux's: it serves archives, and writes the status of objects.
type sourceController struct {
	*httptest.Server
	e *env.Env

	mu       sync.Mutex
	down     bool
	archives map[string][]byte // by path
}

func newSourceController(e *env.Env) *sourceController {
	s := &sourceController{e: e, archives: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		packed, there := s.archives[r.URL.Path]
		down := s.down
		s.mu.Unlock()
		switch {
		case down:
			http.Error(w, "it is down", http.StatusServiceUnavailable)
		case there:
			_, _ = w.Write(packed)
		default:
			http.NotFound(w, r)
		}
	}))
	e.T.Cleanup(s.Close)
	return s
}

func (s *sourceController) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func (s *sourceController) host() string { return strings.TrimPrefix(s.URL, "http://") }

// create creates an object without an artifact.
func (s *sourceController) create(kind string, resource schema.GroupVersionResource, name string) {
	s.e.T.Helper()
	s.e.Apply(fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: {interval: 1m}", resource.GroupVersion(), kind, name))
	s.e.T.Cleanup(func() { s.e.Delete(resource, s.e.Namespace, name) })
}

// publish makes an archive the artifact of an object.
func (s *sourceController) publish(resource schema.GroupVersionResource, name, revision string, packed []byte) {
	s.e.T.Helper()
	digest := fmt.Sprintf("%x", sha256.Sum256(packed))
	s.mu.Lock()
	s.archives["/"+digest+".tar.gz"] = packed
	s.mu.Unlock()
	s.setStatus(resource, name, revision, s.URL+"/"+digest+".tar.gz", digest)
}

func (s *sourceController) setStatus(resource schema.GroupVersionResource, name, revision, url, digest string) {
	s.e.T.Helper()
	s.e.Patch(resource, name, fmt.Sprintf(`{"status": {"artifact": {"url": %q, "digest": "sha256:%s", "revision": %q, "path": "x", "size": 1}}}`,
		url, digest, revision), "status")
}

func packed(t *testing.T, keysAndTexts ...string) []byte {
	t.Helper()
	files := map[string]string{}
	for i := 0; i < len(keysAndTexts); i += 2 {
		files[keysAndTexts[i]] = keysAndTexts[i+1]
	}
	text, err := bundle.Pack(files)
	must(t, err)
	return text
}

func fluxSource(e *env.Env, kind, name, more string) string {
	return fmt.Sprintf("{flux: {kind: %s, namespace: %s, name: %s%s}}", kind, e.Namespace, name, more)
}

// TestFlux goes through the life of a source of Flux: artifacts that are good, and those that are not.
func TestFlux(t *testing.T) {
	t.Parallel()
	e := env.NewWithThings(t)
	flux := newSourceController(e)
	flags := "--flux-artifact-hosts=" + flux.host()
	start(e, flags)
	installFlux(e, "GitRepository", gitRepositories)
	name := define(e, "", fluxSource(e, "GitRepository", "hooks", ", path: src/hooks"))
	e.ApplyThing("a", "", "")
	origin := "GitRepository " + e.Namespace + "/hooks path src/hooks: "
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceMissing", origin+"not found: create it")
	flux.create("GitRepository", gitRepositories, "hooks")
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceUnreadable", origin+"has no artifact yet")

	tree := func(text string) []byte {
		return packed(t, "README.md", text, "src/hooks/sync.js", "import { text } from './lib/text.js';\n"+
			"export const sync = () => ({status: {said: text}, children: []});\n", "src/hooks/lib/text.js", "export const text = '"+text+"';\n",
			"src/hooks/.github/x.js", "not a script")
	}
	flux.publish(gitRepositories, "hooks", "main@sha1:one", tree("one"))
	waitForSaid(e, "a", "one")
	e.WaitForCondition(name, "ScriptsReady", "True", "serves", "GitRepository "+e.Namespace+"/hooks is at main@sha1:one")
	flux.publish(gitRepositories, "hooks", "main@sha1:two", tree("two"))
	waitForSaid(e, "a", "two")
	e.WaitForCondition(name, "ScriptsReady", "True", "is at main@sha1:two")
	e.WaitForEvent("hooks", "ScriptReloaded", name)
	waitUntilArchived(e, name)

	// What is wrong is reported, and the last good one goes on.
	wrong := func(text string, parts ...string) {
		t.Helper()
		e.WaitForCondition(name, "ScriptsReady", "False", append(parts, "goes on serving")...)
		e.ApplyThing(text, "", "")
		waitForSaid(e, text, "two")
	}
	good := fmt.Sprintf("%x", sha256.Sum256(tree("two")))
	flux.setStatus(gitRepositories, "hooks", "r", flux.URL+"/"+good+".tar.gz", strings.Repeat("0", 64))
	wrong("digest", "has not the digest sha256:0000")
	flux.setStatus(gitRepositories, "hooks", "r", "http://127.0.0.1:1/x.tar.gz", strings.Repeat("1", 64))
	wrong("host", "is on the host \"127.0.0.1:1\", which --flux-artifact-hosts does not name")
	flux.publish(gitRepositories, "hooks", "r", bytes.Repeat([]byte("0"), bundle.MaxBytes+1))
	wrong("large", "has more than 16 MiB")
	flux.publish(gitRepositories, "hooks", "r", []byte("hostile"))
	wrong("hostile", "can't be unpacked")
	flux.publish(gitRepositories, "hooks", "main@sha1:bad", packed(t, "src/hooks/sync.js", broken))
	wrong("broken", "ScriptInvalid", origin+"sync.js:2:10: ", "is at main@sha1:bad")

	// The process starts again while nothing can be fetched.
	flux.publish(gitRepositories, "hooks", "main@sha1:two", tree("two"))
	e.WaitForCondition(name, "ScriptsReady", "True")
	flux.setDown(true)
	e.Kill()
	start(e, flags)
	e.ApplyThing("b", "", "")
	waitForSaid(e, "b", "two")
	e.WaitForCondition(name, "ScriptsReady", "False", "status 503", "goes on serving, from ControllerRevision "+e.Namespace+"/")
	flux.setDown(false)
	e.WaitForCondition(name, "ScriptsReady", "True", "is at main@sha1:two")
}

// TestFluxLater has the CustomResourceDefinition come after the definition. Half of the scripts are a ConfigMap's.
func TestFluxLater(t *testing.T) {
	t.Parallel()
	e := env.NewWithThings(t)
	flux := newSourceController(e)
	start(e, "--flux-artifact-hosts="+flux.host())
	applyFiles(e, "hooks", "sync.js", "import { text } from './vendor/text.js';\nexport const sync = () => ({status: {said: text}, children: []});\n")
	name := define(e, "", source(e, "hooks"), fluxSource(e, "Bucket", "lib", ", prefix: vendor"))
	e.ApplyThing("a", "", "")
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceUnreadable", "Bucket "+e.Namespace+"/lib: ",
		"the cluster has no buckets.source.toolkit.fluxcd.io in version v1: install that part of Flux")
	installFlux(e, "Bucket", buckets)
	t.Cleanup(func() {
		crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
		err := e.Cluster.Dynamic().Resource(crds).Delete(context.Background(), "buckets.source.toolkit.fluxcd.io", metav1.DeleteOptions{})
		e.NoError(err)
	})
	flux.create("Bucket", buckets, "lib")
	flux.publish(buckets, "lib", "sha256:one", packed(t, "text.js", "export const text = 'later';\n"))
	waitForSaid(e, "a", "later")
	e.WaitForCondition(name, "ScriptsReady", "True", "Bucket "+e.Namespace+"/lib is at sha256:one")
}

// TestFluxApproval approves an edit on the object of Flux that it is from.
func TestFluxApproval(t *testing.T) {
	t.Parallel()
	e := env.NewWithThings(t)
	flux := newSourceController(e)
	start(e, "--flux-artifact-hosts="+flux.host())
	installFlux(e, "GitRepository", gitRepositories)
	flux.create("GitRepository", gitRepositories, "hooks")
	const makes = `export const sync = ({parent}) => ({status: {said: "CHILDREN"}, children: CHILDREN.map(name => ({
  apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + name}, data: {text: name}}))});`
	text := func(children string) []byte {
		return packed(t, "sync.js", strings.ReplaceAll(makes, "CHILDREN", children))
	}
	flux.publish(gitRepositories, "hooks", "one", text("['x', 'y', 'z']"))
	name := e.Namespace
	e.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s, labels: {test: %s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  scriptSources: [%s]
  scriptRollout: {approvals: ConfigMap}
  hooks: {sync: {version: v2, script: {path: sync.js}}}
`, name, e.Namespace, e.Group, fluxSource(e, "GitRepository", "hooks", "")))
	for _, thing := range []string{"a", "b", "c"} {
		e.ApplyThing(thing, "", "")
		waitForSaid(e, thing, "['x', 'y', 'z']")
	}
	flux.publish(gitRepositories, "hooks", "two", text("[]"))
	held := e.WaitForCondition(name, "ScriptsReady", "True", "Held", "is held", "GitRepository "+e.Namespace+"/hooks is at two")
	words := strings.Fields(held.Message)
	id := words[slices.Index(words, "revision")+1]
	approval := annotations(approves, fmt.Sprintf("%q", id))
	applyFiles(e, "hooks", "unused", "")
	editor := newEditor(e, "editor")
	editor.Grant(e.Namespace, gitRepositories.Group, gitRepositories.Resource, "get", "patch")
	restrictApprovals(e, editor)
	_, err := editor.In(gitRepositories).Patch(t.Context(), "hooks", types.MergePatchType, approval, metav1.PatchOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("an editor approves on a GitRepository: %v", err)
	}
	e.Patch(gitRepositories, "hooks", string(approval))
	waitForSaid(e, "a", "[]")
	e.WaitForEvent("hooks", "Approved", "is approved by the annotation", "GitRepository "+e.Namespace+"/hooks")
}

// TestNoFlux has a host that reads no artifacts.
func TestNoFlux(t *testing.T) {
	t.Parallel()
	e := newRunning(t, "--flux-artifact-hosts=")
	name := define(e, "", fluxSource(e, "OCIRepository", "hooks", ""))
	e.WaitForCondition(name, "Accepted", "False", "scriptSources[0].flux: this host reads no artifacts of Flux: start it with --flux-artifact-hosts")
}
