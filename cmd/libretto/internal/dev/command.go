// Package dev implements libretto dev: a cluster in memory that hosts the definitions of a folder, and a page that shows what they do.
package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/dev/page"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livedefinition"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve/folder"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation/apiserver"
	"github.com/libretto-k8s/libretto/engines"
)

type options struct {
	cluster       cli.ClusterFlags
	isLive        bool
	port          int
	edit, noTests bool
	verbosity     int
}

// Command returns libretto dev.
func Command(w cli.Process) *cobra.Command {
	o := &options{cluster: cli.DefaultClusterFlags(), port: 8001, verbosity: -1}
	c := &cobra.Command{
		Use:   "dev [DIRECTORY]",
		Short: "Host a folder on a cluster in memory, and show what its definitions do",
		Long: `Host the definitions of a folder on a cluster in memory, and show what they do on
a page: definitions, parents and children as they come, each pass with what its
hooks were asked, read, answered and wrote, edits that are held, and tests with
what they cover. The folder is the present one, if none is named.

The host is that of libretto serve -f. CustomResourceDefinitions and other objects
of the folder are applied too. What changes in the folder is applied, and its
tests are run again. kubectl reaches the cluster as is printed at the start.
Nothing of it is left when the command ends.

With --live, --kubeconfig or --context the page shows definitions, parents and
children of that cluster, and the folder if it is named. Nothing is written to it.`,
		Example: `  libretto dev
  libretto dev examples/hello
  libretto dev --context staging`,
		Args: cli.Exactly(0, 1, "one folder, or none for the present one"),
		RunE: func(c *cobra.Command, args []string) error {
			o.isLive = o.isLive || c.Flags().Changed("kubeconfig") || c.Flags().Changed("context")
			return run(c.Context(), w, o, args)
		},
	}
	f := c.Flags()
	o.cluster.AddTo(f)
	f.Lookup("kubeconfig").Usage = "kubeconfig file of a cluster to show, in place of one in memory"
	f.Lookup("context").Usage = "context of the kubeconfig of a cluster to show, in place of one in memory"
	f.BoolVar(&o.isLive, "live", o.isLive, "show the cluster that kubectl uses or, in a pod, the one around it, in place of one in memory")
	f.IntVar(&o.port, "port", o.port, "port of the page on this machine, or the next one that is free")
	f.BoolVar(&o.edit, "edit", o.edit, "let the page write files of the folder")
	f.BoolVar(&o.noTests, "no-tests", o.noTests, "do not run the tests of the folder when it changes")
	f.IntVarP(&o.verbosity, "v", "v", o.verbosity, "verbosity of the host's log; without it, only errors and warnings are logged")
	cli.Finish(c, cli.Conduct{
		Success: "it was stopped by a signal", Cannot: "it can't start: a flag, the folder, the port or the cluster is wrong",
		Stdout: "the address of the page, and how kubectl reaches the cluster", Stderr: "the log of the host",
	})
	return c
}

// session is one use of the command.
type session struct {
	cli.Process
	*options
	root    string
	engines *engines.Registry
	stream  *stream
	config  *rest.Config
	fail    context.CancelCauseFunc
	running sync.WaitGroup
}

// run serves the page until ctx ends.
func run(ctx context.Context, w cli.Process, o *options, args []string) error {
	s := &session{Process: w, options: o, stream: newStream()}
	if len(args) > 0 {
		s.root = filepath.Clean(args[0])
	} else if !o.isLive {
		s.root = "."
	}
	if s.root != "" {
		if info, err := os.Stat(s.root); err != nil {
			return cli.Cannot(err)
		} else if !info.IsDir() {
			return cli.Cannot(fmt.Errorf("%s is a file: name the folder that has it", s.root))
		}
	}
	registry, stop, err := cli.OfflineEngines(w)
	if err != nil {
		return cli.Cannot(err)
	}
	defer stop()
	s.engines = registry
	ctx, s.fail = context.WithCancelCause(ctx)
	defer s.running.Wait()
	defer s.fail(nil)
	if err := s.listen(ctx); err != nil && ctx.Err() == nil {
		return cli.Cannot(err)
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return cli.Cannot(err)
	}
	return nil
}

// Open hosts a folder on a cluster in memory until ctx ends, in a process without a network. It returns what the page asks, which may
// write files of the folder. failed is called if the host ends before.
func Open(ctx context.Context, w cli.Process, root string, failed func(error)) (http.Handler, error) {
	registry, _, err := cli.OfflineEngines(w)
	if err != nil {
		return nil, err
	}
	s := &session{Process: w, options: &options{edit: true, verbosity: -2}, root: root, engines: registry, stream: newStream()}
	ctx, s.fail = context.WithCancelCause(ctx)
	server, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { failed(context.Cause(ctx)) })
	server.page = http.NotFoundHandler()
	return server.handler(), nil
}

// listen serves the page until ctx ends.
func (s *session) listen(ctx context.Context) (err error) {
	listener, err := listen(ctx, s.port)
	if err != nil {
		return fmt.Errorf("--port: %w", err)
	}
	defer func() {
		if err != nil {
			listener.Close()
		}
	}()
	to, err := s.start(ctx)
	if err != nil {
		return err
	}
	if to.page, err = page.Handler(); err != nil {
		return err
	}
	if !s.isLive {
		if err := createHost(ctx, s.config); err != nil {
			return err
		}
	}
	s.serve(ctx, listener, to.handler())
	return s.print(listener.Addr().(*net.TCPAddr).Port)
}

// start starts all that runs until ctx ends, but for the page. It returns what serves it.
func (s *session) start(ctx context.Context) (*server, error) {
	to := &server{
		meta: metaMessage{Live: s.isLive, Edit: s.edit && s.root != "", Version: s.Version}, root: s.root, stream: s.stream,
		recorder: &recorder{stream: s.stream, passes: map[int64]*passDetails{}},
		tests: &tests{
			stream: s.stream, folder: test.Folder{Process: s.Process, Path: s.root, Engines: s.engines}, isOff: s.noTests,
			started: make(chan struct{}, 1),
		},
	}
	if absolute, err := filepath.Abs(s.root); err == nil && s.root != "" {
		to.meta.Folder = filepath.Base(absolute)
	}
	cluster, err := s.connect(ctx, to)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(s.config)
	if err != nil {
		return nil, err
	}
	api, err := discovery.NewDiscoveryClientForConfig(s.config)
	if err != nil {
		return nil, err
	}
	wrong := &problems{stream: s.stream, root: s.root, engines: s.engines, bySource: map[string][]string{}}
	all := newObjects(s.stream, wrong, client, api, cluster, livedefinition.ProgramOf(s.Process))
	all.run(ctx)
	to.recorder.ended, to.objects = all.setFailing, all
	a := &author{
		problems: wrong, tests: to.tests, client: client, applied: map[string]*applied{}, isLive: s.isLive,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(api)), stderr: s.Stderr,
	}
	to.tests.check = a.check
	if !s.isLive {
		if err := a.createNamespace(ctx, hostNamespace); err != nil {
			return nil, err
		}
	}
	s.follow(ctx, to.recorder, a)
	if s.root != "" {
		s.running.Go(func() { to.tests.run(ctx) })
	}
	return to, nil
}

// readyAfter is how long objects take to become ready: one can see them wait.
const readyAfter = time.Second

// connect sets the cluster to that of the flags, or to one in memory, which it returns and which runs until ctx ends, and what serves it.
func (s *session) connect(ctx context.Context, to *server) (_ *apiserver.Server, err error) {
	if s.isLive {
		if s.config, _, err = s.cluster.Config(s.Process); err == nil {
			to.kubernetes, err = readOnly(s.config)
		}
		return nil, err
	}
	server, err := apiserver.New(apiserver.Config{
		Clock: clock.RealClock{}, Log: logr.Discard(), ReadyAfter: readyAfter, Wrote: to.recorder.wrote,
	})
	if err != nil {
		return nil, err
	}
	s.running.Go(func() { server.Run(ctx) })
	s.config, to.kubernetes = server.RESTConfig(), server.Handler()
	s.config.UserAgent = s.UserAgent() // It is who has written what, as on any cluster.
	return server, nil
}

// follow hosts the folder until ctx ends. Of a cluster that is not this command's it only shows and tests what is in the folder.
func (s *session) follow(ctx context.Context, r *recorder, a *author) {
	switch {
	case !s.isLive:
		local, host := serve.Local{Namespace: hostNamespace, Folder: s.root, Listener: a, Verbosity: s.verbosity}, s.Process
		host.Stderr = terminal{s.Stderr, a.problems}
		s.running.Go(func() {
			if err := serve.Run(parent.WithObserver(ctx, r), host, s.config, local); err != nil && ctx.Err() == nil {
				s.fail(fmt.Errorf("the host: %w", err))
			}
		})
	case s.root != "":
		f := folder.New(folder.Config{Path: s.root, Clock: clock.RealClock{}, Log: logr.Discard(), Listener: a}, prometheus.NewRegistry())
		s.running.Go(func() { f.Follow(ctx) })
	}
}

// serve serves the page until ctx ends.
func (s *session) serve(ctx context.Context, listener net.Listener, handler http.Handler) {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	s.running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.fail(fmt.Errorf("the page: %w", err))
		}
	})
	context.AfterFunc(ctx, func() { _ = server.Close() })
}

// print prints where the page is, and how kubectl reaches the cluster.
func (s *session) print(port int) error {
	address := fmt.Sprintf("http://localhost:%d", port)
	if _, err := fmt.Fprintf(s.Stdout, "%s/ shows what happens; Ctrl-C ends it\n", address); err != nil || s.isLive {
		return err
	}
	path, err := writeKubeconfig(address, port)
	if err == nil {
		_, err = fmt.Fprintf(s.Stdout, "export KUBECONFIG=%s\n", cli.ShellQuoted(path))
	}
	return err
}

// writeKubeconfig writes a kubeconfig, which is the same for each use of a port: shells that were told of it reach the next one, too.
func writeKubeconfig(address string, port int) (string, error) {
	folder, err := os.UserCacheDir()
	if err == nil {
		folder = filepath.Join(folder, "libretto")
		err = os.MkdirAll(folder, 0o755)
	}
	if err != nil { // Nobody else may have made the folder in its place.
		if folder, err = os.MkdirTemp("", "libretto-"); err != nil {
			return "", err
		}
	}
	path := filepath.Join(folder, fmt.Sprintf("dev-%d.kubeconfig", port))
	const name = "libretto-dev"
	return path, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: address}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name}},
		CurrentContext: name,
	}, path)
}
