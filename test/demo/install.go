package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	definitionFolder = "manifests/crd"
	exampleFolder    = "examples/catset"
	catsetFile       = "examples/catset/catset.yaml"

	demoNamespace   = "demo"   // of the CatSet
	scriptNamespace = "catset" // of the ConfigMap
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

// install brings the CRDs and starts the program.
func (d *demo) install(ctx context.Context) error {
	if err := d.installDefinitions(ctx); err != nil {
		return err
	}
	d.out.command(commandLine("bin/libretto", "serve", "--kubeconfig="+d.cluster.Kubeconfig))
	begin := time.Now()
	err := d.out.during("libretto starts", func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, startLimit)
		defer cancel()
		d.libretto, err = d.cluster.StartLibretto(ctx)
		return err
	})
	if err != nil {
		return err
	}
	d.out.ok("libretto is ready for definitions (%s)", duration(time.Since(begin)))
	return nil
}

func (d *demo) installDefinitions(ctx context.Context) error {
	found, err := d.hasOurDefinitions(ctx)
	if err != nil {
		return err
	}
	if found {
		d.out.say("The CRDs are there already, and are left as they are.")
		return nil
	}
	d.undoing("-k", definitionFolder)
	if err := d.kubectl(ctx, "apply", "-k", definitionFolder); err != nil {
		return err
	}
	wait := []string{"wait", "--for=condition=Established"}
	for _, kind := range []string{"composite", "decorator", "map"} {
		wait = append(wait, "crd/"+kind+"controllers.metacontroller.k8s.io")
	}
	return d.kubectl(ctx, wait...)
}

// create applies the example, and begins to watch what becomes of it.
func (d *demo) create(ctx context.Context) error {
	var err error
	if d.good, err = readScript(); err != nil {
		return err
	}
	d.undoing("-k", exampleFolder)
	if err := d.kubectl(ctx, "apply", "-k", exampleFolder); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "wait", "--for=condition=Established", "crd/"+catsets.Resource+"."+catsets.Group); err != nil {
		return err
	}
	if d.watch, err = d.startWatch(ctx); err != nil {
		return err
	}
	if err := d.await(ctx, "the controller is Ready, its script loaded", definitionReady); err != nil {
		return err
	}
	d.out.ok("the controller runs")
	return d.kubectl(ctx, "get", "compositecontroller", controllerName)
}
