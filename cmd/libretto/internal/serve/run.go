package serve

import (
	"context"
	"runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve/folder"
	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

// Local is a host in the process of another command.
type Local struct {
	// Namespace is the host's own, which exists.
	Namespace string
	// Folder is that of -f. Its objects are in the namespace default, if they name none.
	Folder string
	// Listener is told of the folder.
	Listener folder.Listener
	// Verbosity is that of the log. -1 means errors and warnings, and less errors alone.
	Verbosity int
}

// Run hosts the definitions of a cluster for one person until ctx ends: without a lease and without addresses. Scripts are that person's,
// and their workers are confined as far as that can.
func Run(ctx context.Context, w cli.Process, config *rest.Config, local Local) error {
	log, err := newLogger(w.Stderr, "console", local.Verbosity)
	if err != nil {
		return err
	}
	o := defaultOptions()
	o.namespace, o.hosted.folder, o.scripts.isolation.require = local.Namespace, local.Folder, string(confine.RequireNone)
	if runtime.GOOS == "js" { // A browser has no processes, and ends this one itself.
		o.scripts.isolation.kind = isolationNone
	}
	s := &server{process: w, options: o, log: log, registry: newRegistry(w.Build()), probes: &probes{}}
	s.followFolder(ctx, metav1.NamespaceDefault, local.Listener)
	return lead(ctx, config, &o.election, w.Build(), log, s.begin)
}
