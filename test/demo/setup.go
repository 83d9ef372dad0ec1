package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/steps"
)

// clusterStep returns the first step.
func (d *demo) clusterStep() steps.Step {
	if d.external() {
		return steps.Step{
			Title: "Use the cluster of KUBECONFIG",
			Why:   "KUBECONFIG is set, so that no control plane is started. What the demo creates is deleted at the end.",
			Run:   d.useExternalCluster,
		}
	}
	return steps.Step{
		Title: "Start a control plane",
		Why:   "A real API server with etcd. A stand-in for the kubelet says that Pods run, so that nothing is downloaded.",
		Run:   d.StartControlPlane,
	}
}

func (d *demo) useExternalCluster(ctx context.Context) error {
	if strings.ContainsRune(d.kubeconfig, os.PathListSeparator) {
		return fmt.Errorf("KUBECONFIG=%s lists several files: set it to one", d.kubeconfig)
	}
	var err error
	if d.Cluster, err = cluster.Attach(d.kubeconfig); err != nil {
		return err
	}
	if err := d.MakeWorkDir(""); err != nil {
		return err
	}
	if err := d.Out.WithProgress("looking what is there", func() error { return d.refuseIfInUse(ctx) }); err != nil {
		return err
	}
	d.Out.OKf("nothing is in the way at %s", d.Cluster.Config.Host)
	return nil
}

// errInUse is the error for a cluster that has objects of the demo's names, which close would delete, or definitions, which
// another process may host.
var errInUse = errors.New("the cluster is in use: choose another one, or unset KUBECONFIG")

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	composites = v1alpha1.GroupVersion.WithResource("compositecontrollers")
	decorators = v1alpha1.GroupVersion.WithResource("decoratorcontrollers")
	maps       = v1alpha1.GroupVersion.WithResource("mapcontrollers")
)

// refuseIfInUse returns errInUse if the cluster has objects that the demo creates, or definitions.
func (d *demo) refuseIfInUse(ctx context.Context) error {
	for _, own := range []struct {
		resource schema.GroupVersionResource
		name     string
	}{
		{namespaces, demoNamespace}, {namespaces, scriptNamespace}, {crds, catsets.Resource + "." + catsets.Group},
	} {
		found, err := d.exists(ctx, own.resource, own.name)
		if err != nil {
			return err
		}
		if found {
			return fmt.Errorf("%s %s is there already: %w", own.resource.Resource, own.name, errInUse)
		}
	}
	for _, resource := range []schema.GroupVersionResource{composites, decorators, maps} {
		list, err := d.Cluster.Dynamic().Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s: %w", resource.Resource, err)
		}
		if err == nil && len(list.Items) > 0 {
			return fmt.Errorf("there are %s already: %w", resource.Resource, errInUse)
		}
	}
	return nil
}

func (d *demo) exists(ctx context.Context, resource schema.GroupVersionResource, name string) (bool, error) {
	_, err := d.Cluster.Dynamic().Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", resource.Resource, name, err)
	}
	return true, nil
}

// hasCRDs reports whether libretto's or metacontroller's CRDs are installed.
func (d *demo) hasCRDs(ctx context.Context) (bool, error) {
	return d.exists(ctx, crds, composites.Resource+"."+composites.Group)
}

const (
	definitionFolder = "manifests/crd"
	exampleFolder    = "examples/catset"
	catsetFile       = "examples/catset/catset.yaml"

	demoNamespace   = "demo"   // Of the CatSet.
	scriptNamespace = "catset" // Of the ConfigMap.
	controllerName  = "catset-controller"
	configMapName   = "catset-hooks"
	scriptName      = "sync.js"
)

var (
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	claims     = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	catsets    = schema.GroupVersionResource{Group: "ctl.example.com", Version: "v1", Resource: "catsets"}
)

// install installs the CRDs and starts libretto.
func (d *demo) install(ctx context.Context) error {
	if err := d.installDefinitions(ctx); err != nil {
		return err
	}
	if err := d.StartLibretto(ctx); err != nil || d.metrics == "" {
		return err
	}
	return d.RecordMetrics(d.metrics)
}

func (d *demo) installDefinitions(ctx context.Context) error {
	found, err := d.hasCRDs(ctx)
	if err != nil {
		return err
	}
	if found {
		d.Out.Info("The CRDs are there already, and are left as they are.")
		return nil
	}
	d.addCleanup("-k", definitionFolder)
	return d.InstallDefinitions(ctx, definitionFolder)
}

// createController applies the example and starts the watch.
func (d *demo) createController(ctx context.Context) error {
	var err error
	if d.script, err = readScript(); err != nil {
		return err
	}
	d.addCleanup("-k", exampleFolder)
	if err := d.Kubectl().Run(ctx, "apply", "-k", exampleFolder); err != nil {
		return err
	}
	if err := d.Kubectl().Run(ctx, "wait", "--for=condition=Established", "crd/"+catsets.Resource+"."+catsets.Group); err != nil {
		return err
	}
	if d.Watch, err = d.startWatch(ctx); err != nil {
		return err
	}
	if err := d.Await(ctx, "the controller is Ready, its script loaded", definitionReady); err != nil {
		return err
	}
	d.Out.OKf("the controller runs")
	return d.Kubectl().Run(ctx, "get", "compositecontroller", controllerName)
}
