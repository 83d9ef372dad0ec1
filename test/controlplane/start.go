package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/test/controlplane/fakekubelet"
)

// readyPoll is how often the start looks whether the next part can follow.
const readyPoll = 20 * time.Millisecond

// start brings the parts up in the order in which they need each other, and returns the path of the kubeconfig. A part
// that ends later calls fail with the reason. The end of ctx ends only the start: the parts end with the process, as
// some of them exit on a signal, before the directory could be removed.
func start(ctx context.Context, fail context.CancelCauseFunc, dir string, o options) (string, error) {
	// The start makes much garbage and leaves little; collecting less of it meanwhile saves a sixth of the time. Later half as much as Go
	// does by itself is collected: of the processor time of tests a sixth was garbage collection.
	debug.SetGCPercent(400)
	defer debug.SetGCPercent(200)

	// 1. Keys, certificate and tokens.
	creds, err := makeCredentials(dir)
	if err != nil {
		return "", err
	}
	// 2. etcd.
	endpoint, err := startEtcd(ctx, dir)
	if err != nil {
		return "", err
	}
	own := filepath.Join(dir, "components.kubeconfig")
	manager, err := newControllerManager(own, creds)
	if err != nil {
		return "", err
	}
	// 3. The API server. The listener is ours, so that no other program can take the port in between.
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		return "", fmt.Errorf("api server's port: %w", err)
	}
	server := "https://" + listener.Addr().String()
	parts := context.WithoutCancel(ctx)
	inBackground(fail, "kube-apiserver", func() error {
		return runAPIServer(parts, dir, endpoint, listener, creds, auditPolicy(o.bodies), o.gates)
	})
	config := creds.restConfig(server)
	if err := waitForAPIServer(ctx, config); err != nil {
		return "", err
	}
	// 4. Everything that is a client of it.
	if err := writeKubeconfig(own, creds.kubeconfig(server, componentUser)); err != nil {
		return "", err
	}
	startClients(parts, fail, config, manager)
	// 5. The kubeconfig appears last: who sees the file can use the cluster.
	if err := waitForServiceAccount(ctx, config); err != nil {
		return "", err
	}
	path := filepath.Join(dir, kubeconfigName)
	return path, writeKubeconfig(path, creds.kubeconfig(server, adminUser))
}

// startClients starts the controllers, the garbage collector and the fake kubelet.
func startClients(ctx context.Context, fail context.CancelCauseFunc, config *rest.Config, manager *controllerManager) {
	inBackground(fail, "kube-controller-manager", func() error {
		return manager.run(ctx)
	})
	inBackground(fail, "garbage collector", func() error {
		return runGarbageCollector(ctx, config)
	})
	inBackground(fail, "kubelet", func() error {
		return fakekubelet.Run(ctx, config)
	})
}

// inBackground runs a part that is meant to run for ever; its end is the end of the control plane.
func inBackground(fail context.CancelCauseFunc, name string, run func() error) {
	go func() {
		err := run()
		if err == nil {
			err = fmt.Errorf("%s ended unexpectedly", name)
		} else {
			err = fmt.Errorf("%s: %w", name, err)
		}
		fail(err)
	}()
}

func waitForAPIServer(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	err = wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
	if err != nil {
		return fmt.Errorf("api server did not become ready: %w", err)
	}
	return nil
}

// waitForServiceAccount waits for the default namespace's service account, without which no Pod is admitted.
func waitForServiceAccount(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	err = wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("service account of the default namespace: %w", err)
	}
	return nil
}
