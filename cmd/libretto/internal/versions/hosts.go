package versions

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// Host is a host, by the labels of the lease that it holds.
type Host struct {
	Namespace string `json:"namespace"`
	Lease     string `json:"lease"`
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Skew      Skew   `json:"skew"`
}

// Skew is how far a host is from this program.
type Skew string

// The ways in which a host differs.
const (
	SkewNone   Skew = "none"
	SkewSmall  Skew = "small"  // At most one minor version, another commit, or versions that have no order.
	SkewTooFar Skew = "tooFar" // More than one minor version.
)

// readHosts returns the hosts that hold leases: all, or for those who may not list them the one in a namespace.
func readHosts(ctx context.Context, config *rest.Config, namespace string) ([]Host, error) {
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := client.Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: cli.NameLabel + "=libretto"})
	if apierrors.IsForbidden(err) {
		list = &coordinationv1.LeaseList{}
		var one *coordinationv1.Lease
		one, err = client.Leases(namespace).Get(ctx, cli.DefaultLease, metav1.GetOptions{})
		switch {
		case err == nil:
			list.Items = append(list.Items, *one)
		case apierrors.IsNotFound(err):
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	var hosts []Host
	for i := range list.Items {
		if host, held := hostOf(&list.Items[i]); held {
			hosts = append(hosts, host)
		}
	}
	return hosts, nil
}

// hostOf returns the host that holds a lease, and false if it is nobody's, or that of somebody who has not written the labels.
func hostOf(lease *coordinationv1.Lease) (Host, bool) {
	labels, identity := lease.Labels, lease.Spec.HolderIdentity
	holder := labels[cli.HolderLabel]
	if holder == "" || identity == nil || !strings.HasSuffix(*identity, holder) {
		return Host{}, false
	}
	return Host{
		Namespace: lease.Namespace, Lease: lease.Name, Version: labels[cli.VersionLabel], Commit: labels[cli.CommitLabel],
	}, true
}

// release returns the version and the commit of the host.
func (h Host) release() string {
	return cli.Build{Version: cmp.Or(h.Version, "of an unknown version"), Commit: h.Commit}.Release()
}

// skewOf returns how far a host is from this program.
func skewOf(own cli.Build, host Host) Skew {
	labels := cli.LeaseLabels(own, "")
	if labels[cli.VersionLabel] == host.Version && labels[cli.CommitLabel] == host.Commit {
		return SkewNone
	}
	a, errOwn := version.ParseSemantic(own.Version)
	b, errHost := version.ParseSemantic(host.Version)
	if errOwn != nil || errHost != nil {
		return SkewSmall
	}
	if a.Major() != b.Major() || max(a.Minor(), b.Minor())-min(a.Minor(), b.Minor()) > 1 {
		return SkewTooFar
	}
	return SkewSmall
}

// advice returns what to say of a host that differs.
func (h Host) advice(own cli.Build) string {
	switch h.Skew {
	case SkewSmall:
		return fmt.Sprintf("the host in namespace %s is %s, and this program %s", h.Namespace, h.release(), own.Release())
	case SkewTooFar:
		return fmt.Sprintf("warning: the host in namespace %s is %s, more than one minor version from this program, which is %s: "+
			"what commands say of the cluster may be wrong: take the program of the host's release", h.Namespace, h.release(), own.Release())
	default:
		return ""
	}
}
