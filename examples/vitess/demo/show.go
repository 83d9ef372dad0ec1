package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/steps"
)

func (s *show) install(ctx context.Context) error {
	if err := s.InstallDefinitions(ctx, definitionFolder); err != nil {
		return err
	}
	return s.StartLibretto(ctx)
}

// installOperator applies the example and starts the watch.
func (s *show) installOperator(ctx context.Context) error {
	if err := s.Kubectl().Run(ctx, "apply", "-k", exampleFolder); err != nil {
		return err
	}
	established := []string{"wait", "--for=condition=Established"}
	for _, resource := range watched[:4] {
		established = append(established, "crd/"+resource.Resource+"."+resource.Group)
	}
	if err := s.Kubectl().Run(ctx, established...); err != nil {
		return err
	}
	resources := map[schema.GroupVersionResource]string{composites: ""}
	for _, resource := range watched {
		// What is measured is not to be slowed down by watches.
		if s.size.clusters == 0 || resource == clusters {
			resources[resource] = namespace
		}
	}
	var err error
	if s.Watch, err = steps.StartWatch(ctx, s.Cluster.Dynamic(), resources, s.Limit); err != nil {
		return err
	}
	if err := s.Await(ctx, "four controllers are Ready", definitionsReady(4)); err != nil {
		return err
	}
	s.Out.OKf("the controllers run")
	return s.Kubectl().Run(ctx, "get", "compositecontrollers")
}

func (s *show) grow(ctx context.Context) error {
	if err := s.Kubectl().Run(ctx, "apply", "-f", clusterFile); err != nil {
		return err
	}
	if err := s.Await(ctx, "the cluster is Ready", clusterReady(clusterName)); err != nil {
		return err
	}
	log := s.Watch.All()
	s.Out.OKf("%s, %s after the cluster was there", describe(log), steps.Duration(growingTime(log, clusterName)))
	for _, order := range growth {
		if err := s.check(log, order); err != nil {
			return err
		}
	}
	if err := s.checkTree(log); err != nil {
		return err
	}
	if err := s.Kubectl().Run(ctx, "get", "vitess", "-n", namespace); err != nil {
		return err
	}
	return s.Kubectl().Run(ctx, "get", "pods", "-n", namespace, "-L", "vitess.libretto.dev/component")
}

// checkTree compares the number of objects with what the example's cluster asks for.
func (s *show) checkTree(log steps.Observations) error {
	for _, want := range tree {
		if got := len(log.List(want.resource)); got != want.count {
			return fmt.Errorf("expected %d %s; last seen: %d", want.count, want.resource.Resource, got)
		}
	}
	s.Out.OKf("the tree has the objects that it should have, and no others: %s", treeText())
	return nil
}

// newImage is any other image: none is pulled.
const newImage = "vitess/lite:v24.0.3"

func (s *show) changeImage(ctx context.Context) error {
	mark := s.Watch.Mark()
	before := s.Watch.All()
	patch := fmt.Sprintf(`{"spec":{"template":{"images":{"vitess":%q}}}}`, newImage)
	if err := s.Kubectl().Run(ctx, "patch", "vitesscluster", clusterName, "-n", namespace, "--type=merge", "-p", patch); err != nil {
		return err
	}
	updated := steps.All(clusterReady(clusterName), imagesAre(newImage))
	if err := s.Await(ctx, "every tablet has the new image, and the cluster is Ready", updated); err != nil {
		return err
	}
	since := s.Watch.Since(mark)
	took := since[len(since)-1].At.Sub(since[0].At)
	s.Out.OKf("all %d tablets were made anew with %s, in %s", len(tablets(before)), newImage, steps.Duration(took))
	order, err := rolledOneAtATime(before, since)
	if err != nil {
		return err
	}
	s.Out.OKf("never was more than one tablet of the cluster not Ready; their order:")
	for _, name := range order {
		s.Out.Info("  " + name)
	}
	if err := claimsKept(before, s.Watch.All()); err != nil {
		return err
	}
	s.Out.OKf("each is on the claim that it had")
	return s.Kubectl().Run(ctx, "get", "vitess", "-n", namespace)
}

func (s *show) deleteCluster(ctx context.Context) error {
	mark := s.Watch.Mark()
	before := s.Watch.All()
	if err := s.Kubectl().Run(ctx, "delete", "vitesscluster", clusterName, "-n", namespace); err != nil {
		return err
	}
	if err := s.Await(ctx, "nothing is left", nothingLeft); err != nil {
		return err
	}
	since := s.Watch.Since(mark)
	s.Out.OKf("nothing is left of %s, after %s", describe(before), steps.Duration(since[len(since)-1].At.Sub(since[0].At)))
	for _, order := range decline {
		if err := s.check(since, order); err != nil {
			return err
		}
	}
	return s.Kubectl().Run(ctx, "get", "vitess,statefulsets,deployments,jobs,pods,pvc,services", "-n", namespace)
}

// check checks an order of events and prints it.
func (s *show) check(log steps.Observations, o order) error {
	if err := o.check(log); err != nil {
		return err
	}
	s.Out.OKf("%s", o.what)
	return nil
}
