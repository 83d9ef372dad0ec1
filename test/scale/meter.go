package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/libretto-k8s/libretto/test/procfs"
)

const (
	// sampleInterval is how often processor times are read.
	sampleInterval = 100 * time.Millisecond
	// workersInterval is how often new workers are looked for.
	workersInterval = time.Second
)

// sample is what the host and its workers have used at a moment.
type sample struct {
	at                              time.Time
	host, workers                   time.Duration
	hostPeak, workersPeak           int64
	hostAnonymous, workersAnonymous int64
}

// meter measures processes from outside, by what the kernel counts.
type meter struct {
	host, apiServer int
	workers         []int // At the time of found. Only one goroutine looks at a time.
	found           time.Time
	stop            context.CancelFunc
	stopped         chan struct{}

	mu      sync.Mutex
	samples []sample
	err     error

	beforeServer, beforeDriver time.Duration
}

// startMeter begins to measure a host. With a time it measures it from there, where it was started.
func startMeter(hostPID, apiServer int, started time.Time) (*meter, error) {
	ctx, cancel := context.WithCancel(context.Background())
	m := &meter{host: hostPID, apiServer: apiServer, stop: cancel, stopped: make(chan struct{})}
	if !started.IsZero() {
		m.samples = append(m.samples, sample{at: started})
	}
	for _, pid := range append([]int{hostPID}, procfs.Descendants(hostPID)...) {
		if !started.IsZero() {
			break // The peak is its own.
		}
		if err := procfs.ResetPeak(pid); err != nil {
			cancel()
			return nil, fmt.Errorf("peak of process %d: %w", pid, err)
		}
	}
	var err error
	if m.beforeServer, m.beforeDriver, err = m.others(); err == nil {
		err = m.look()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	go m.run(ctx)
	return m, nil
}

// others returns the processor time of the control plane and of this process.
func (m *meter) others() (server, driver time.Duration, err error) {
	t, err := procfs.ReadTimes(m.apiServer)
	if err != nil {
		return 0, 0, err
	}
	var own unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &own); err != nil {
		return 0, 0, err
	}
	return t.Own, time.Duration(own.Utime.Nano() + own.Stime.Nano()), nil
}

func (m *meter) run(ctx context.Context) {
	defer close(m.stopped)
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := m.look(); err != nil {
				m.mu.Lock()
				m.err = err
				m.mu.Unlock()
				return
			}
		}
	}
}

// look takes a sample.
func (m *meter) look() error {
	own, err := procfs.ReadTimes(m.host)
	if err != nil {
		return fmt.Errorf("the host is gone: %w", err)
	}
	mem, err := procfs.ReadMemory(m.host)
	if err != nil {
		return fmt.Errorf("the host is gone: %w", err)
	}
	s := sample{at: time.Now(), host: own.Own, workers: own.Ended, hostPeak: mem.Peak, hostAnonymous: mem.Anonymous}
	if s.at.Sub(m.found) >= workersInterval {
		m.workers, m.found = procfs.Descendants(m.host), s.at
	}
	for _, pid := range m.workers {
		t, timesErr := procfs.ReadTimes(pid)
		mem, memErr := procfs.ReadMemory(pid)
		if errors.Join(timesErr, memErr) != nil {
			continue // It has just ended.
		}
		s.workers += t.Own + t.Ended
		s.workersPeak += mem.Peak
		s.workersAnonymous += mem.Anonymous
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.samples = append(m.samples, s)
	return nil
}

// lastBusy returns when the host did something the last time, and why that is unknown.
func (m *meter) lastBusy() (time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return lastBusy(m.samples), m.err
}

// lastBusy returns the end of the last interval in which a host did more than what an idle one does now and then: a tick alone in half a
// second does not count.
func lastBusy(samples []sample) time.Time {
	const apart = 500 * time.Millisecond
	last := samples[0].at
	for i := 1; i < len(samples); i++ {
		s := samples[i]
		if s.used(samples[i-1]) == 0 {
			continue
		}
		before := i - 1
		for before > 0 && s.at.Sub(samples[before].at) < apart {
			before--
		}
		if s.used(samples[before]) > procfs.Tick {
			last = s.at
		}
	}
	return last
}

// used returns the processor time since an earlier sample.
func (s sample) used(before sample) time.Duration {
	return s.host + s.workers - before.host - before.workers
}

// end stops measuring and writes what was used.
func (m *meter) end(into *measurement) error {
	m.stop()
	<-m.stopped
	m.found = time.Time{}
	if err := errors.Join(m.err, m.look()); err != nil {
		return err
	}
	server, driver, err := m.others()
	if err != nil {
		return err
	}
	first, last := m.samples[0], m.samples[len(m.samples)-1]
	into.HostCPU = (last.host - first.host).Seconds()
	into.WorkersCPU = (last.workers - first.workers).Seconds()
	into.ServerCPU = (server - m.beforeServer).Seconds()
	into.DriverCPU = (driver - m.beforeDriver).Seconds()
	into.HostAnonymous, into.WorkersAnonymous = last.hostAnonymous, last.workersAnonymous
	for _, s := range m.samples {
		into.HostPeak = max(into.HostPeak, s.hostPeak)
		into.WorkersPeak = max(into.WorkersPeak, s.workersPeak)
	}
	return nil
}
