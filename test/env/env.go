// Package world is what tests of bin/libretto as a process share: a namespace and an API group of the test's own on a
// real API server, a libretto that can be killed and started again, and ways to wait for what it does.
package env

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// Soon is how long anything may take that is expected to happen at once.
const Timeout = 20 * time.Second

// Agent is how libretto's requests are told from others in the audit log.
const UserAgent = "libretto/"

// Resources that every API server has, or that libretto brings.
var (
	ConfigMaps           = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	Pods                 = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	Events               = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	CompositeControllers = schema.GroupVersionResource{Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "compositecontrollers"}
	Revisions            = schema.GroupVersionResource{Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "controllerrevisions"}
	CRDs                 = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// World is one test's namespace, API group and libretto.
type Env struct {
	T       *testing.T
	Cluster *cluster.Cluster
	// Namespace is where objects are looked for and put that name no other.
	Namespace string
	// Group is an API group that no other test uses.
	Group string

	process *process
}

// running is a libretto and how it was started. The copies of a World share it.
type process struct {
	libretto *cluster.Libretto
	flags    []string
}

// New makes a namespace on a cluster that has libretto's resources. At the end of the test a libretto that was started
// is stopped, and has to end well.
func New(t *testing.T) *Env {
	t.Helper()
	c := cluster.Get(t)
	if err := c.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	namespace := c.Namespace(t)
	e := &Env{T: t, Cluster: c, Namespace: namespace, Group: namespace + ".example.com", process: &process{}}
	t.Cleanup(e.stop)
	return e
}

// For is the same world for a subtest.
func (e Env) WithT(t *testing.T) *Env {
	e.T = t
	return &e
}

// OutsideNamespaces is the same world for objects of the cluster's own.
func (e Env) ClusterScope() *Env {
	e.Namespace = ""
	return &e
}

// Start runs libretto.
func (e *Env) Start(flags ...string) {
	e.T.Helper()
	ctx, cancel := context.WithTimeout(e.T.Context(), Timeout)
	defer cancel()
	libretto, err := e.Cluster.StartLibretto(ctx, append([]string{"-v=1"}, flags...)...)
	if err != nil {
		e.T.Fatal(err)
	}
	*e.process = process{libretto: libretto, flags: flags}
}

// Kill ends libretto as kill -9 does.
func (e *Env) Kill() {
	e.T.Helper()
	if err := e.process.libretto.Kill(); err != nil {
		e.T.Fatal(err)
	}
	e.process.libretto = nil
}

// Restart kills libretto and starts it again as it was.
func (e *Env) Restart() {
	e.T.Helper()
	e.Kill()
	e.Start(e.process.flags...)
}

// Libretto is the process that was started last, unless it was killed.
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
