// Package env is the environment of integration tests: a namespace and an API group of the test's own on a real API
// server, a libretto process that can be killed and started again, and helpers that apply objects and wait for results.
package env

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/cluster"
)

// Timeout limits the wait for anything that is expected to happen at once.
const Timeout = 20 * time.Second

// UserAgent is the prefix of libretto's user agent in the audit log.
const UserAgent = "libretto/"

// The kinds of definitions.
const (
	Composite = "CompositeController"
	Decorator = "DecoratorController"
	Map       = "MapController"
)

// Resources that every API server has, or that libretto installs.
var (
	ConfigMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	Secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	Services    = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	Namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	Pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	Events      = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	Deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	// ScriptRevisions hold the scripts that have served.
	ScriptRevisions = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
	// Revisions hold the parents' revisions of rolling updates.
	Revisions            = schema.GroupVersionResource{Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "controllerrevisions"}
	CompositeControllers = Definitions(Composite)
	DecoratorControllers = Definitions(Decorator)
	MapControllers       = Definitions(Map)
	CRDs                 = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// Definitions returns the resource of a kind of definition.
func Definitions(kind string) schema.GroupVersionResource {
	return v1alpha1.DefinitionResource(v1alpha1.GroupVersion.WithKind(kind))
}

// NamespacedDefinitions returns the resource of a kind of definition with a namespace.
func NamespacedDefinitions(kind string) schema.GroupVersionResource {
	return v1alpha1.DefinitionResource(v1alpha1.NamespacedGroupVersion.WithKind(kind))
}

// Env is one test's namespace, API group and libretto.
type Env struct {
	T       *testing.T
	Cluster *cluster.Cluster
	// Namespace is the default namespace of objects.
	Namespace string
	// Group is an API group that no other test uses.
	Group string

	process *process
}

// process is a libretto and the flags of its start. The copies of an Env share it.
type process struct {
	libretto *cluster.Libretto
	flags    []string
}

// New creates a namespace on a cluster that has libretto's resources. A libretto that runs at the end of the test is
// stopped, and must end without an error.
func New(t *testing.T) *Env {
	t.Helper()
	c := cluster.Get(t)
	NoError(t, c.Install(t.Context()))
	namespace := c.Namespace(t)
	e := &Env{T: t, Cluster: c, Namespace: namespace, Group: namespace + ".example.com", process: &process{}}
	t.Cleanup(e.stop)
	return e
}

// NewWithThings returns an Env that has the custom resource Thing.
func NewWithThings(t *testing.T) *Env {
	t.Helper()
	e := New(t)
	e.Apply(CRD(e.Group, "Thing", "Namespaced"))
	return e
}

// NewRunning returns an Env that has the custom resource Thing and runs libretto.
func NewRunning(t *testing.T, flags ...string) *Env {
	t.Helper()
	e := NewWithThings(t)
	e.Start(flags...)
	return e
}

// WithT returns the same Env for a subtest.
func (e Env) WithT(t *testing.T) *Env {
	e.T = t
	return &e
}

// InNamespace returns the same Env with another namespace.
func (e Env) InNamespace(namespace string) *Env {
	e.Namespace = namespace
	return &e
}

// ClusterScope returns the same Env for objects without a namespace.
func (e Env) ClusterScope() *Env { return e.InNamespace("") }

// Start runs libretto.
func (e *Env) Start(flags ...string) {
	e.T.Helper()
	ctx, cancel := context.WithTimeout(e.T.Context(), Timeout)
	defer cancel()
	libretto, err := e.Cluster.StartLibretto(ctx, append([]string{"-v=1"}, flags...)...)
	e.NoError(err)
	*e.process = process{libretto: libretto, flags: flags}
}

// Kill ends libretto as kill -9 does.
func (e *Env) Kill() {
	e.T.Helper()
	e.NoError(e.process.libretto.Kill())
	e.process.libretto = nil
}

// Restart kills libretto and starts it again with the same flags.
func (e *Env) Restart() {
	e.T.Helper()
	e.Kill()
	e.Start(e.process.flags...)
}

// Libretto returns the process that was started last, or nil if it was killed.
func (e *Env) Libretto() *cluster.Libretto { return e.process.libretto }

func (e *Env) stop() {
	libretto := e.process.libretto
	if libretto == nil {
		return
	}
	if err := libretto.Stop(); err != nil {
		e.T.Error(err)
	}
	if e.T.Failed() {
		e.T.Logf("libretto's log:\n%s", libretto.Log())
	}
}

// KubeconfigAs writes a kubeconfig that acts as a user, and returns its path.
func (e *Env) KubeconfigAs(user string) string {
	e.T.Helper()
	config, err := clientcmd.LoadFromFile(e.Cluster.Kubeconfig)
	e.NoError(err)
	for _, auth := range config.AuthInfos {
		auth.Impersonate = user
	}
	path := filepath.Join(e.T.TempDir(), "kubeconfig")
	e.NoError(clientcmd.WriteToFile(*config, path))
	return path
}

// Kubectl runs kubectl, which must succeed, and returns its output.
func (e *Env) Kubectl(args ...string) string {
	e.T.Helper()
	out, err := e.Cluster.Kubectl(e.T.Context(), args...)
	e.NoError(err)
	return out
}

// NoError ends the test if there is an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// NoError ends the test if there is an error.
func (e *Env) NoError(err error) {
	e.T.Helper()
	NoError(e.T, err)
}

// Eventually waits until check returns no error.
func (e *Env) Eventually(check func() error) {
	e.T.Helper()
	cluster.Eventually(e.T, Timeout, check)
}
