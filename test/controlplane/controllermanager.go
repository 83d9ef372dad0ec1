package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	manageroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// controllers are those that run. The garbage collector is missing because it is started on its own, those for nodes
// and volumes because there are no real ones.
var controllers = []string{
	names.NamespaceController,
	names.ServiceAccountController,
	names.ServiceAccountTokenController,
	names.RootCACertificatePublisherController,
	names.ClusterRoleAggregationController,
	names.DeploymentController,
	names.ReplicaSetController,
	names.StatefulSetController,
	names.DaemonSetController,
	names.JobController,
	names.CronJobController,
	names.TTLAfterFinishedController,
	names.EndpointSliceController,
	names.DisruptionController,
	// Admission puts a finalizer on claims and volumes, which only these two take away.
	names.PersistentVolumeClaimProtectionController,
	names.PersistentVolumeProtectionController,
}

// runControllerManager runs Kubernetes' own controllers until the context ends.
func runControllerManager(ctx context.Context, kubeconfig string, creds *credentials) error {
	manager, err := manageroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	known, off, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	args := managerArguments(kubeconfig, creds)
	if err := setFlags(manager.Flags(known, off, aliases), args); err != nil {
		return err
	}
	if err := manager.ComponentGlobalsRegistry.Set(); err != nil {
		return fmt.Errorf("feature gates: %w", err)
	}
	config, err := manager.Config(ctx, known, off, aliases)
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	return app.Run(ctx, config.Complete())
}

func managerArguments(kubeconfig string, creds *credentials) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--controllers=" + strings.Join(controllers, ","),
		"--secure-port=0",
		"--leader-elect=false",
		"--service-account-private-key-file=" + creds.keyFile,
		"--root-ca-file=" + creds.caFile,
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	}
}
