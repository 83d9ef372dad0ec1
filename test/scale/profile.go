package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// profileSeconds is how much one CPU profile covers. How long a phase takes is not known before, so that it has several, which
// go tool pprof adds up.
const profileSeconds = 5

// profiling collects profiles of a host during a phase. Its methods accept nil.
type profiling struct {
	host    *host
	address string
	folder  string
	stop    context.CancelFunc
	running sync.WaitGroup
	err     error // May be read after running.
}

// startProfile begins to profile the host, if that is asked for.
func (c *scene) startProfile(ctx context.Context, phase string) *profiling {
	if c.options.profiles == "" || !c.subject.libretto || phase == "" {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &profiling{
		host: c.host, stop: cancel,
		folder: filepath.Join(c.options.profiles, fmt.Sprintf("%s-run%d-%s", c.subject.name, c.run+1, phase)),
	}
	p.running.Go(func() { p.err = p.collect(ctx) })
	return p
}

// collect fetches CPU profiles until the phase is over.
func (p *profiling) collect(ctx context.Context) (err error) {
	if err := os.MkdirAll(p.folder, 0o755); err != nil {
		return err
	}
	if p.address, err = p.host.address("profiling"); err != nil {
		return err
	}
	for i := 1; ctx.Err() == nil; i++ {
		// The last one goes on for some seconds after the phase, in which the host is idle.
		path := fmt.Sprintf("/debug/pprof/profile?seconds=%d", profileSeconds)
		if err := p.fetch(context.WithoutCancel(ctx), path, fmt.Sprintf("cpu-%03d.pb.gz", i)); err != nil {
			return err
		}
	}
	return nil
}

func (p *profiling) fetch(ctx context.Context, path, file string) error {
	ctx, cancel := context.WithTimeout(ctx, (profileSeconds+30)*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("profile: %s of %s", response.Status, path)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return os.WriteFile(filepath.Join(p.folder, file), content, 0o644)
}

// end waits for the last CPU profile, and fetches those of memory: what is live after a garbage collection, and all allocations so far.
func (p *profiling) end(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.stop()
	p.running.Wait()
	if p.err != nil {
		return p.err
	}
	return errors.Join(p.fetch(ctx, "/debug/pprof/heap?gc=1", "heap.pb.gz"), p.fetch(ctx, "/debug/pprof/goroutine", "goroutine.pb.gz"))
}
