// Package cluster gives tests a control plane: a real API server with the controllers that workloads rely on, started
// from bin/controlplane for a test package and gone with it.
//
//	func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		c := cluster.Get(t)
//		namespace := c.Namespace(t)
//		...
//	}
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// UserAgent is how the helper's own clients call themselves, so that requests of the program under test can be reported
// from it.
const UserAgent = "cluster.test"

// Cluster is a control plane that can be used.
type Cluster struct {
	// Kubeconfig is the path of a file with every right.
	Kubeconfig string
	// Config holds the same for a client in this process, without a limit on its rate.
	Config *rest.Config
	// Dir is where the control plane keeps its data and logs.
	Dir string

	process *process // nil if it was not started here
	args    []string // with which it is started again
	dynamic *dynamic.DynamicClient
	rest    *discovery.DiscoveryClient

	installing sync.Mutex
	installed  bool

	mapperLock sync.Mutex // Reset and mapping must not cross
	mapper     *restmapper.DeferredDiscoveryRESTMapper
}

// Options say how a control plane is started. The zero value will do.
type Options struct {
	// Dir keeps data and logs after the end. Empty stands for a temporary directory.
	Dir string
	// Port is that of the API server. 0 takes a free one.
	Port int
	// AuditBodies puts into the audit log what is sent with each write, and what is answered: Request.Sent and Request.Answered.
	AuditBodies bool
	// FeatureGates are those of the API server, as NAME=true. An older one leaves out what it does not know.
	FeatureGates string
}

// Start starts a control plane and waits until it can be used, or the context ends. The caller has to call Stop; if
// this process ends without doing so, however it ends, the control plane notices and stops too.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	binary, err := Binary("controlplane")
	if err != nil {
		return nil, err
	}
	args := []string{"--stop-on-stdin-eof"}
	if options.Dir != "" {
		args = append(args, "--dir", options.Dir)
	}
	if options.Port != 0 {
		args = append(args, "--port", strconv.Itoa(options.Port))
	}
	if options.AuditBodies {
		args = append(args, "--audit-bodies")
	}
	if options.FeatureGates != "" {
		args = append(args, "--feature-gates", options.FeatureGates)
	}
	process, kubeconfig, err := startProcess(ctx, exec.Command(binary, args...))
	if err != nil {
		return nil, fmt.Errorf("control plane: %w", err)
	}
	c, err := Attach(kubeconfig)
	if err != nil {
		return nil, errors.Join(err, process.stop())
	}
	c.process, c.args = process, args
	return c, nil
}

// Signal sends the control plane's process a signal.
func (c *Cluster) Signal(signal os.Signal) error { return c.process.command.Process.Signal(signal) }

// Kill ends a control plane that was started here at once, as kill -9 does. Restart starts it again.
func (c *Cluster) Kill() error {
	if err := c.process.command.Process.Kill(); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	<-c.process.done
	return nil
}

// Restart starts a control plane that was killed again, and returns when it can be used. If it was started with a Dir and a Port, it is the same
// for its clients.
func (c *Cluster) Restart(ctx context.Context) error {
	binary, err := Binary("controlplane")
	if err != nil {
		return err
	}
	process, _, err := startProcess(ctx, exec.Command(binary, c.args...))
	if err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	c.process = process
	return nil
}

// Attach makes a Cluster of a control plane that runs already. Stop leaves it running.
func Attach(kubeconfig string) (*Cluster, error) {
	path, err := filepath.Abs(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	config.QPS = -1
	config.UserAgent = UserAgent
	c := &Cluster{Kubeconfig: path, Config: config, Dir: filepath.Dir(path)}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("dynamic client: %w", err)
	}
	if c.rest, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return nil, fmt.Errorf("discovery client: %w", err)
	}
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.rest))
	return c, nil
}

// Stop ends the control plane and waits until it is gone. The error says so if it had ended before.
func (c *Cluster) Stop() error {
	if c.process == nil {
		return nil
	}
	if err := c.process.stop(); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	return nil
}

// PID returns the number of the control plane's process, or 0 if it was not started here.
func (c *Cluster) PID() int {
	if c.process == nil {
		return 0
	}
	return c.process.command.Process.Pid
}

// Dynamic is a client for every resource.
func (c *Cluster) Dynamic() dynamic.Interface { return c.dynamic }

// Kubectl runs the kubectl that was built with the control plane, and returns what it printed. Its error contains what
// it complained of.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	binary, err := Binary("kubectl")
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, binary, append([]string{"--kubeconfig", c.Kubeconfig, "--cache-dir", filepath.Join(c.Dir, "kubectl-cache")}, args...)...)
	out, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return string(out), fmt.Errorf("kubectl %q: %w", args, err)
	}
	return string(out), nil
}
