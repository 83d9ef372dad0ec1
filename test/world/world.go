// Package world is what tests of bin/libretto as a process share: a namespace and an API group of the test's own on a
// real API server, a libretto that can be killed and started again, and ways to wait for what it does.
package world

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// Soon is how long anything may take that is expected to happen at once.
const Soon = 20 * time.Second

// Agent is how libretto's requests are told from others in the audit log.
const Agent = "libretto/"

// Resources that every API server has, or that libretto brings.
var (
	ConfigMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	Pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	Events     = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	Composites = schema.GroupVersionResource{Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "compositecontrollers"}
	Revisions  = schema.GroupVersionResource{Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "controllerrevisions"}
	CRDs       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// World is one test's namespace, API group and libretto.
type World struct {
	T       *testing.T
	Cluster *cluster.Cluster
	// Namespace is where objects are looked for and put that name no other.
	Namespace string
	// Group is an API group that no other test uses.
	Group string

	running *running
}

// running is a libretto and how it was started. The copies of a World share it.
type running struct {
	libretto *cluster.Libretto
	flags    []string
}

// New makes a namespace on a cluster that has libretto's resources. At the end of the test a libretto that was started
// is stopped, and has to end well.
func New(t *testing.T) *World {
	t.Helper()
	c := cluster.Get(t)
	if err := c.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	namespace := c.Namespace(t)
	w := &World{T: t, Cluster: c, Namespace: namespace, Group: namespace + ".example.com", running: &running{}}
	t.Cleanup(w.stop)
	return w
}

// For is the same world for a subtest.
func (w World) For(t *testing.T) *World {
	w.T = t
	return &w
}

// OutsideNamespaces is the same world for objects of the cluster's own.
func (w World) OutsideNamespaces() *World {
	w.Namespace = ""
	return &w
}

// Start runs libretto.
func (w *World) Start(flags ...string) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), Soon)
	defer cancel()
	libretto, err := w.Cluster.StartLibretto(ctx, append([]string{"-v=1"}, flags...)...)
	if err != nil {
		w.T.Fatal(err)
	}
	*w.running = running{libretto: libretto, flags: flags}
}

// Kill ends libretto as kill -9 does.
func (w *World) Kill() {
	w.T.Helper()
	if err := w.running.libretto.Kill(); err != nil {
		w.T.Fatal(err)
	}
	w.running.libretto = nil
}

// Restart kills libretto and starts it again as it was.
func (w *World) Restart() {
	w.T.Helper()
	w.Kill()
	w.Start(w.running.flags...)
}

// Libretto is the process that was started last, unless it was killed.
func (w *World) Libretto() *cluster.Libretto { return w.running.libretto }

func (w *World) stop() {
	libretto := w.running.libretto
	if libretto == nil {
		return
	}
	if err := libretto.Stop(); err != nil {
		w.T.Error(err)
	}
	if w.T.Failed() {
		w.T.Logf("libretto's log:\n%s", libretto.Log())
	}
}
