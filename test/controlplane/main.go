// Command controlplane is a Kubernetes control plane in one process: etcd, the API server, the controllers that
// workloads rely on, and a fake kubelet. The demo and the tests run against it, so they need neither a
// container engine nor a download.
//
// It prints KUBECONFIG=<path> on standard output once the cluster can be used, and serves until a signal stops it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// errStopped is why the control plane ends when it was asked to.
var errStopped = errors.New("stopped")

// world is all that the program takes from its surroundings.
type world struct {
	args   []string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

func main() {
	w := world{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	// Exit ends every goroutine at once. Waiting for open watches to close would take the API server more than ten
	// seconds, and nothing they hold is worth keeping.
	os.Exit(run(w))
}

// options are the command line's.
type options struct {
	dir            string
	port           int
	bodies         bool
	gates          string
	stopOnStdinEOF bool
}

func parse(w world) (options, error) {
	var o options
	flags := flag.NewFlagSet("controlplane", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are printed once, with all others
	flags.StringVar(&o.dir, "dir", "", "keep data, kubeconfig and logs in this directory; without it a temporary one is made, and removed at the end")
	flags.IntVar(&o.port, "port", 0, "port of the API server; with the --dir of one that ended, clients find everything as it was; 0 takes a free one")
	flags.BoolVar(&o.bodies, "audit-bodies", false, "put into the audit log what is sent with each write, and what is answered")
	flags.StringVar(&o.gates, "feature-gates", "", "feature gates of the API server, as NAME=true; those that its version does not know are left out")
	flags.BoolVar(&o.stopOnStdinEOF, "stop-on-stdin-eof", false, "stop when standard input closes, so that the end of the starting program, however it comes, is the end of this one")
	if err := flags.Parse(w.args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(w.stderr)
			flags.PrintDefaults()
		}
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return o, nil
}

func run(w world) int {
	o, err := parse(w)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = serve(w, o)
	}
	if err != nil {
		fmt.Fprintln(w.stderr, "controlplane:", err)
		return 1
	}
	return 0
}

// serve runs the control plane until it is asked to stop, or until one of its parts fails.
func serve(w world, o options) error {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	stopWhenAsked(w, o, stop)

	dir, err := openDirectory(o.dir)
	if err != nil {
		return err
	}
	defer dir.close()

	log, err := redirectLogs(filepath.Join(dir.path, logName))
	if err != nil {
		return err
	}
	kubeconfig, err := start(ctx, stop, dir.path, o)
	if err == nil {
		fmt.Fprintf(w.stdout, "KUBECONFIG=%s\n", kubeconfig)
		<-ctx.Done()
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, errStopped) {
		return nil
	}
	if tail := log.tail(); tail != "" {
		err = fmt.Errorf("%w\n%s", err, tail)
	}
	return err
}

// stopWhenAsked turns a signal, and if wanted the end of standard input, into the end of the control plane.
func stopWhenAsked(w world, o options, stop context.CancelCauseFunc) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		stop(errStopped)
	}()
	if o.stopOnStdinEOF {
		go func() {
			// A read error means the same as the end: nobody is there any more.
			_, _ = io.Copy(io.Discard, w.stdin)
			stop(errStopped)
		}()
	}
}
