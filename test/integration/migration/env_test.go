package migration

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

const token = "let-me-in"

// manifest has the flags of metacontroller's own manifest, and others that are used with it.
var manifest = []string{"--zap-log-level=4", "--discovery-interval=20s", "--workers=5", "--client-go-qps=50", "--client-go-burst=100"}

// testEnv is an Env with namespaced Things and cluster-scoped Sites, and webhooks for them that use TLS.
type testEnv struct {
	*env.Env
	server *httptest.Server
	hooks  *hooks
}

func newEnv(t *testing.T) *testEnv {
	t.Helper()
	e := env.NewWithThings(t)
	e.Apply(env.CRD(e.Group, "Site", "Cluster"))
	s := &testEnv{Env: e, hooks: &hooks{namespace: e.Namespace, asked: map[string]int{}}}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.hooks.serve))
	s.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.server.EnableHTTP2 = true
	s.server.StartTLS()
	t.Cleanup(s.server.Close)
	e.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: shared}, data: {text: shared}}")
	e.Apply(fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: caller}, stringData: {token: %s}}", token))
	return s
}

func (s *testEnv) in(t *testing.T) *testEnv {
	return &testEnv{Env: s.WithT(t), server: s.server, hooks: s.hooks}
}

// define applies a family's definition as users of metacontroller write it.
func (s *testEnv) define(name string, f family) {
	s.T.Helper()
	hooks := []string{"hooks:"}
	for _, hook := range f.hookNames() {
		hooks = append(hooks, fmt.Sprintf("  %s: {version: %s, webhook: {url: %q}}", hook, f.version, s.server.URL+f.path(hook)))
	}
	rule := fmt.Sprintf("{apiVersion: %s/v1, resource: %s, labelSelector: {matchLabels: {family: %s}}}", s.Group, f.parents(), name)
	var children []string
	for _, resource := range []string{"v1, resource: configmaps", "v1, resource: services", "apps/v1, resource: deployments"} {
		children = append(children, fmt.Sprintf("- {apiVersion: %s, updateStrategy: {method: %s}}", resource, f.method))
	}
	spec := fmt.Sprintf("parentResource: %s\ngenerateSelector: %v\nchildResources:\n", rule, f.generated)
	if f.kind == env.Decorator {
		spec = fmt.Sprintf("resources: [%s]\nattachments:\n", rule)
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
	access := fmt.Sprintf("endpointConfigs: [{host: %q, caBundle: {inline: %s}, authorization: {secretRef: {namespace: %s, name: caller, key: token}}}]",
		strings.TrimPrefix(s.server.URL, "https://"), env.Quote(string(authority)), s.Namespace)
	s.Define(f.kind, "-"+name, spec+strings.Join(children, "\n"), strings.Join(hooks, "\n"), access)
}

func (s *testEnv) definitionName(name string) string { return s.Namespace + "-" + name }

// of returns the Env and the resource of a family's parents.
func (s *testEnv) of(f family) (*env.Env, schema.GroupVersionResource) {
	resource := s.Resource(f.parentKind())
	if f.cluster {
		return s.ClusterScope(), resource
	}
	return s.Env, resource
}

// librettosWrites returns libretto's writes, without those of definitions, whose status metacontroller does not write.
func (s *testEnv) librettosWrites(since cluster.Mark) cluster.Requests {
	s.T.Helper()
	return s.Requests(since).Writes().Filter(func(r cluster.Request) bool {
		return r.Resource != "compositecontrollers" && r.Resource != "decoratorcontrollers"
	})
}

func field(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}
