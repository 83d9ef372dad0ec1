package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// serviceRange holds the addresses of Services.
const serviceRange = "10.96.0.0/16"

// runAPIServer serves on the listener until the context ends.
//
// The options are set by flag, which is the interface that Kubernetes keeps stable, but the command around them is left
// out: it takes over signals and logging, which belong to this program and can be set up only once in a process.
func runAPIServer(ctx context.Context, dir, etcd string, listener net.Listener, creds *credentials, auditPolicy, gates string) error {
	policy, err := writeAuditPolicy(dir, auditPolicy)
	if err != nil {
		return err
	}
	server := apiserveroptions.NewServerRunOptions()
	server.SecureServing.Listener = listener
	args := append(serverArguments(etcd, listener, creds), auditArguments(dir, policy)...)
	if known := knownGates(gates); known != "" {
		args = append(args, "--feature-gates="+known)
	}
	if err := setFlags(server.Flags(), args); err != nil {
		return err
	}
	if err := server.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return fmt.Errorf("feature gates: %w", err)
	}
	completed, err := server.Complete(ctx)
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return fmt.Errorf("options: %v", errs)
	}
	return app.Run(ctx, completed)
}

// knownGates returns those of feature gates that this version has.
func knownGates(gates string) string {
	var known []string
	all := utilfeature.DefaultMutableFeatureGate.GetAll()
	for gate := range strings.SplitSeq(gates, ",") {
		name, _, _ := strings.Cut(gate, "=")
		if _, has := all[featuregate.Feature(name)]; has {
			known = append(known, gate)
		}
	}
	return strings.Join(known, ",")
}

func serverArguments(etcd string, listener net.Listener, creds *credentials) []string {
	port := listener.Addr().(*net.TCPAddr).Port
	return []string{
		"--etcd-servers=" + etcd,
		"--secure-port=" + strconv.Itoa(port), // the listener is used; the number still has to be valid
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + creds.caFile,
		"--tls-private-key-file=" + creds.keyFile,
		"--token-auth-file=" + creds.tokenFile,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + creds.keyFile,
		"--service-account-signing-key-file=" + creds.keyFile,
		"--service-cluster-ip-range=" + serviceRange,
		// Whose request is served first needs no care here, and costs each request some processor time.
		"--enable-priority-and-fairness=false",
		// The plug-in taints new nodes, and the controller that would take the taint away does not run here.
		"--disable-admission-plugins=TaintNodesByCondition",
	}
}

// setFlags applies a command line to the options behind the sets of flags.
func setFlags(sets cliflag.NamedFlagSets, args []string) error {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	return nil
}
