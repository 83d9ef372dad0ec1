// Command demo brings the Vitess example up on a control plane of its own, changes its image and deletes it, and checks the order in
// which that happens. `make vitess` runs it. With -clusters it creates that many large clusters instead, and measures what they cost.
package main

import (
	"context"
	"flag"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/steps"
)

func main() {
	size := size{}
	flag.IntVar(&size.clusters, "clusters", 0, "create so many clusters, and measure: without it the example is shown")
	flag.IntVar(&size.cells, "cells", 3, "with -clusters: cells of each cluster")
	flag.IntVar(&size.shards, "shards", 4, "with -clusters: shards of each cluster, a power of two")
	flag.IntVar(&size.tablets, "tablets", 3, "with -clusters: tablets of each shard, one in each cell first")
	flag.Parse()
	steps.Main("vitess", func(out *steps.Report) steps.Program {
		s := &show{Session: &steps.Session{Out: out, Limit: limit}, size: size}
		p := steps.Program{
			Title:   "An operator for Vitess in Jsonnet: examples/vitess",
			Steps:   append(s.setUp(), s.example()...),
			Log:     s.Log,
			Close:   func(context.Context) error { return s.Stop() },
			Reading: nextReading,
		}
		if size.clusters > 0 {
			s.Limit = sizeLimit
			p.Steps = append(s.setUp(), s.measurement()...)
		}
		return p
	})
}

// limit is how long each expected state may take. On an idle machine it takes seconds.
const limit = 3 * time.Minute

// nextReading are files for the reader to continue with.
var nextReading = [][2]string{
	{"examples/vitess/README.md", "the example that you have just seen"},
	{"examples/vitess/lib/stages.libsonnet", "how its stages follow each other"},
	{"docs/guide/README.md", "the guide"},
}

const (
	definitionFolder = "manifests/crd"
	exampleFolder    = "examples/vitess"
	clusterFile      = "examples/vitess/cluster.yaml"
	namespace        = "demo"
	clusterName      = "example"
)

var (
	composites   = schema.GroupVersionResource{Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "compositecontrollers"}
	clusters     = vitess("vitessclusters")
	cells        = vitess("vitesscells")
	keyspaces    = vitess("vitesskeyspaces")
	shards       = vitess("vitessshards")
	pods         = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	services     = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	claims       = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	jobs         = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	// watched are the resources of the tree, from the top down.
	watched = []schema.GroupVersionResource{
		clusters, cells, keyspaces, shards, statefulSets, deployments, jobs, pods, claims, services,
	}
)

func vitess(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "vitess.libretto.dev", Version: "v1alpha1", Resource: resource}
}

// show is the state that the steps share.
type show struct {
	*steps.Session
	size size
}

// setUp returns the steps before a cluster is created.
func (s *show) setUp() []steps.Step {
	return []steps.Step{
		{
			Title: "Start a control plane",
			Why:   "A real API server with Kubernetes' own controllers. A stand-in for the kubelet says that Pods run, so that no Vitess does.",
			Run:   s.StartControlPlane,
		},
		{
			Title: "Install libretto",
			Why:   "Its CRDs, and the program: one process for all controllers of a cluster.",
			Run:   s.install,
		},
		{
			Title: "Install the operator",
			Why:   "Four definitions, their scripts in two ConfigMaps: cluster, cell, keyspace and shard.",
			Run:   s.installOperator,
		},
	}
}

// example returns the steps that show the example.
func (s *show) example() []steps.Step {
	return []steps.Step{
		{
			Title: "A cluster grows",
			Why:   "Topology servers first, then cells and keyspaces, which Jobs write there, then tablets.",
			Run:   s.grow,
		},
		{
			Title: "Change the image",
			Why:   "One field of the VitessCluster. It goes down the tree, and through the tablets one Pod at a time.",
			Run:   s.changeImage,
		},
		{
			Title: "Delete the cluster",
			Why:   "Finalizers take the tree down in the opposite order, and Jobs take back what was written to the topology.",
			Run:   s.deleteCluster,
		},
	}
}
