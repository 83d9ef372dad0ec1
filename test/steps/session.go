package steps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// startLimit is how long a control plane and libretto may take to start.
const startLimit = 90 * time.Second

// Session is a cluster with a libretto and a watch on it. Its fields are set as the steps get there.
type Session struct {
	Out      *Report
	Limit    time.Duration // How long the expected state may take.
	Cluster  *cluster.Cluster
	WorkDir  string // For files, and kubectl's cache.
	Libretto *cluster.Libretto
	Watch    *Watch

	stopScraping func() error // Nil before RecordMetrics.
}

// StartControlPlane starts a control plane of the session's own.
func (s *Session) StartControlPlane(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	begin := time.Now()
	err := s.Out.WithProgress("the control plane starts", func() (err error) {
		s.Cluster, err = cluster.Start(ctx, cluster.Options{})
		return err
	})
	if err != nil {
		return err
	}
	s.Out.OKf("ready at %s (%s)", s.Cluster.Config.Host, Duration(time.Since(begin)))
	s.Out.Info("While this lasts you can look around: export KUBECONFIG=" + s.Cluster.Kubeconfig)
	return s.MakeWorkDir(s.Cluster.Dir)
}

// MakeWorkDir creates the folder for files. A folder in parent is deleted with it, even if the program is killed.
func (s *Session) MakeWorkDir(parent string) error {
	work, err := os.MkdirTemp(parent, "demo-")
	if err != nil {
		return fmt.Errorf("work folder: %w", err)
	}
	s.WorkDir, err = filepath.Abs(work)
	return err
}

// StartLibretto starts libretto.
func (s *Session) StartLibretto(ctx context.Context) error {
	s.Out.Command(CommandLine("bin/libretto", "serve", "--kubeconfig="+s.Cluster.Kubeconfig))
	begin := time.Now()
	err := s.Out.WithProgress("libretto starts", func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, startLimit)
		defer cancel()
		s.Libretto, err = s.Cluster.StartLibretto(ctx)
		return err
	})
	if err != nil {
		return err
	}
	s.Out.OKf("libretto is ready for definitions (%s)", Duration(time.Since(begin)))
	return nil
}

// InstallDefinitions applies the CustomResourceDefinitions of libretto in a folder.
func (s *Session) InstallDefinitions(ctx context.Context, folder string) error {
	if err := s.Kubectl().Run(ctx, "apply", "-k", folder); err != nil {
		return err
	}
	wait := []string{"wait", "--for=condition=Established"}
	for _, kind := range []string{"composite", "decorator", "map"} {
		wait = append(wait, "crd/"+kind+"controllers.metacontroller.k8s.io")
	}
	return s.Kubectl().Run(ctx, wait...)
}

// Kubectl returns the kubectl of the session.
func (s *Session) Kubectl() Kubectl {
	return Kubectl{Out: s.Out, Kubeconfig: s.Cluster.Kubeconfig, CacheDir: filepath.Join(s.WorkDir, "kubectl-cache")}
}

// Await waits until the check passes, up to the time limit.
func (s *Session) Await(ctx context.Context, expected string, c Check) error {
	return s.Out.WithProgress("waiting until "+expected, func() error {
		ctx, cancel := context.WithTimeout(ctx, s.Limit)
		defer cancel()
		seen, err := s.Watch.Await(ctx, c, s.Libretto.Ended)
		if errors.Is(err, context.DeadlineExceeded) {
			return TimeoutError{Expected: expected, Limit: s.Limit, Seen: seen}
		}
		if err != nil {
			return fmt.Errorf("expected %s: %w; last seen: %s", expected, err, seen)
		}
		return nil
	})
}

// Log returns the log of libretto.
func (s *Session) Log() string {
	if s.Libretto == nil {
		return ""
	}
	return s.Libretto.Log()
}

// Stop stops all processes.
func (s *Session) Stop() error {
	var errs []error
	if s.Watch != nil {
		s.Watch.Stop()
	}
	if s.stopScraping != nil {
		errs = append(errs, s.stopScraping())
	}
	if s.Libretto != nil {
		errs = append(errs, s.Libretto.Stop())
	}
	if s.Cluster != nil {
		errs = append(errs, s.Cluster.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.WorkDir))...)
}

// TimeoutError is the error of a step whose check did not pass in time.
type TimeoutError struct {
	Expected string
	Limit    time.Duration
	Seen     string
}

func (e TimeoutError) Error() string {
	return fmt.Sprintf("expected within %s: %s; last seen: %s", Duration(e.Limit), e.Expected, e.Seen)
}
