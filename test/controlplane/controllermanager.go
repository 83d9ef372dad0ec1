package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
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

// controllerManager is what has been set by flag, and what that takes again later.
type controllerManager struct {
	*manageroptions.KubeControllerManagerOptions
	known, off []string
	aliases    map[string]string
}

// newControllerManager sets the options. That comes before the API server's: in Kubernetes 1.34 and 1.35 it changes the default of a feature
// gate, and fails once the API server has read the gates, which are those of the process.
func newControllerManager(kubeconfig string, creds *credentials) (*controllerManager, error) {
	options, err := manageroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("options of the controller manager: %w", err)
	}
	m := &controllerManager{options, app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()}
	if err := setFlags(m.Flags(m.known, m.off, m.aliases), managerArguments(kubeconfig, creds)); err != nil {
		return nil, fmt.Errorf("controller manager: %w", err)
	}
	return m, nil
}

// run runs Kubernetes' own controllers until the context ends.
func (m *controllerManager) run(ctx context.Context) error {
	if err := m.ComponentGlobalsRegistry.Set(); err != nil {
		return fmt.Errorf("feature gates: %w", err)
	}
	c, err := m.config(ctx)
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	return app.Run(ctx, c.Complete())
}

// config makes a configuration of the options. Kubernetes 1.33 takes no context for that.
func (m *controllerManager) config(ctx context.Context) (*config.Config, error) {
	var method any = m.Config
	if older, ok := method.(func([]string, []string, map[string]string) (*config.Config, error)); ok {
		return older(m.known, m.off, m.aliases)
	}
	current := method.(func(context.Context, []string, []string, map[string]string) (*config.Config, error))
	return current(ctx, m.known, m.off, m.aliases)
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
