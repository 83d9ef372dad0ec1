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

const (
	composite = "composite"
	decorator = "decorator"
	token     = "let-me-in"
)

var (
	services    = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// manifest are the flags of metacontroller's own manifest, and others that are used with it.
var manifest = []string{"--zap-log-level=4", "--discovery-interval=20s", "--workers=5", "--client-go-qps=50", "--client-go-burst=100"}

// stage is a world with namespaced Things and Sites of the cluster's, and webhooks that serve them over TLS.
type stage struct {
	*env.Env
	server *httptest.Server
	hooks  *hooks
}

func newStage(t *testing.T) *stage {
	t.Helper()
	w := env.New(t)
	w.Apply(env.CRD(w.Group, "Thing", "Namespaced") + "\n---\n" + env.CRD(w.Group, "Site", "Cluster"))
	s := &stage{Env: w, hooks: &hooks{namespace: w.Namespace, asked: map[string]int{}}}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.hooks.serve))
	s.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.server.EnableHTTP2 = true
	s.server.StartTLS()
	t.Cleanup(s.server.Close)
	w.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: shared}, data: {text: shared}}")
	w.Apply(fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: caller}, stringData: {token: %s}}", token))
	return s
}

func (s *stage) in(t *testing.T) *stage {
	return &stage{Env: s.WithT(t), server: s.server, hooks: s.hooks}
}

// definitionsOf is the resource of a kind of definition.
func definitionsOf(kind string) schema.GroupVersionResource {
	return env.CompositeControllers.GroupVersion().WithResource(kind + "controllers")
}

// define applies a family's definition, as its users have it for metacontroller.
func (s *stage) define(name string, f family) {
	s.T.Helper()
	full := s.definitionName(name)
	var hooks []string
	for _, hook := range f.hookNames() {
		hooks = append(hooks, fmt.Sprintf("  %s: {version: %s, webhook: {url: %q}}", hook, f.version, s.server.URL+"/"+f.kind+"/"+hook))
	}
	rule := fmt.Sprintf("{apiVersion: %s/v1, resource: %s, labelSelector: {matchLabels: {family: %s}}}", s.Group, f.parents(), name)
	var children []string
	for _, resource := range []string{"v1, resource: configmaps", "v1, resource: services", "apps/v1, resource: deployments"} {
		children = append(children, fmt.Sprintf("- {apiVersion: %s, updateStrategy: {method: %s}}", resource, f.method))
	}
	spec := fmt.Sprintf("parentResource: %s\ngenerateSelector: %v\nchildResources:\n", rule, f.generated)
	if f.kind == decorator {
		spec = fmt.Sprintf("resources: [%s]\nattachments:\n", rule)
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
	access := fmt.Sprintf("endpointConfigs: [{host: %q, caBundle: {inline: %s}, authorization: {secretRef: {namespace: %s, name: caller, key: token}}}]",
		strings.TrimPrefix(s.server.URL, "https://"), env.Quote(string(authority)), s.Namespace)
	s.Apply(fmt.Sprintf("apiVersion: metacontroller.k8s.io/v1alpha1\nkind: %sController\nmetadata: {name: %s}\nspec:\n%s",
		strings.ToUpper(f.kind[:1])+f.kind[1:], full, env.Indent(spec+strings.Join(children, "\n")+"\nhooks:\n"+strings.Join(hooks, "\n")+"\n"+access)))
	s.T.Cleanup(func() { s.Delete(definitionsOf(f.kind), "", full) })
}

func (s *stage) definitionName(name string) string { return s.Namespace + "-" + name }

// of is where the parents of a family are.
func (s *stage) of(f family) (*env.Env, schema.GroupVersionResource) {
	resource := schema.GroupVersionResource{Group: s.Group, Version: "v1", Resource: f.parents()}
	if f.cluster {
		return s.ClusterScope(), resource
	}
	return s.Env, resource
}

// hostsWrites are libretto's, but for what it writes of definitions: their status is new with it.
func (s *stage) hostsWrites(since cluster.Mark) cluster.Requests {
	s.T.Helper()
	return s.Requests(since).Writes().Filter(func(r cluster.Request) bool {
		return r.Resource != "compositecontrollers" && r.Resource != "decoratorcontrollers"
	})
}

func field(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}
