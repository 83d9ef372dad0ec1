package chaos

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/chaos/history"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/delayproxy"
)

// replica is a host that is started again whenever it has ended, as a Deployment does, and its way to the API server.
type replica struct {
	name    string
	proxy   *delayproxy.Proxy
	cluster *cluster.Cluster
	flags   []string
	cancel  context.CancelFunc
	ended   chan struct{}

	mu       sync.Mutex
	libretto *cluster.Libretto // nil while none runs
	lives    int
	// killed reports whether the present process was killed by a fault.
	killed   bool
	logs     []string // of the processes that have ended
	logged   int      // how much the present process had logged when log was to begin
	findings []string // ends that no fault explains
}

// readyTimeout is how long a host may take until it is ready, on a busy machine.
const readyTimeout = 60 * time.Second

func startReplica(c *cluster.Cluster, name, dir string, flags ...string) (*replica, error) {
	proxy, err := delayproxy.Start(c.Config, dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &replica{
		name: name, proxy: proxy, cluster: c, cancel: cancel, ended: make(chan struct{}),
		flags: append([]string{"-v=1", "--kubeconfig", proxy.Kubeconfig}, flags...),
	}
	go r.run(ctx)
	return r, nil
}

// run starts one process after another until ctx ends.
func (r *replica) run(ctx context.Context) {
	defer close(r.ended)
	for ctx.Err() == nil {
		r.mu.Lock()
		r.lives++
		r.killed, r.logged = false, 0
		r.proxy.Name(history.AuditName(fmt.Sprint(r.name, ".", r.lives)))
		r.mu.Unlock()
		starting, cancel := context.WithTimeout(ctx, readyTimeout)
		libretto, err := r.cluster.StartLibretto(starting, r.flags...)
		cancel()
		if err != nil { // It was not ready in time, or has ended before, as it does without an API server.
			r.note(err.Error())
			if pause(ctx, pollInterval) != nil {
				return
			}
			continue
		}
		r.set(libretto)
		select {
		case <-libretto.Done():
			r.finish(libretto)
		case <-ctx.Done():
			return
		}
	}
}

func (r *replica) set(libretto *cluster.Libretto) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.libretto = libretto
}

// explained are the ends of a host that has lost its lease, or has not found what it needs when it started.
var explained = regexp.MustCompile(`leader election: |failed to get server groups|asking for the API server.s resources|connection refused|EOF`)

// finish notes how a process has ended.
func (r *replica) finish(libretto *cluster.Libretto) {
	r.set(nil)
	r.note(libretto.Log())
	err := libretto.Stop() // It has ended, and this tells how.
	r.mu.Lock()
	defer r.mu.Unlock()
	if log := libretto.Log(); !r.killed && err != nil && !explained.MatchString(lastLines(log, 5)) {
		r.findings = append(r.findings, fmt.Sprintf("%s.%d has ended by itself: %s", r.name, r.lives, lastLines(err.Error(), 5)))
	}
}

// note keeps a log, and looks for what no host should say.
func (r *replica) note(log string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = append(r.logs, log[min(r.logged, len(log)):])
	r.findings = append(r.findings, r.alarms(log)...)
}

var alarming = regexp.MustCompile(`(?m)^.*(panic: |fatal error: |DATA RACE).*$`)

func (r *replica) alarms(log string) []string {
	var all []string
	for _, line := range alarming.FindAllString(log, 3) {
		all = append(all, fmt.Sprintf("%s.%d logs: %s", r.name, r.lives, line))
	}
	return all
}

// takeFindings returns what was found since it was called last.
func (r *replica) takeFindings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.findings
	r.findings = nil
	return found
}

// log returns what the replica's processes have logged since the last call of forget, in their order.
func (r *replica) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := strings.Join(r.logs, "\n--- the next process\n")
	if r.libretto != nil {
		all += "\n--- the present process\n" + r.libretto.Log()[r.logged:]
	}
	return all
}

// forget has log begin now.
func (r *replica) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.logs = nil; r.libretto != nil {
		r.logged = len(r.libretto.Log())
	}
}

// process returns the name of the present process in the audit log.
func (r *replica) process() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprint(r.name, ".", r.lives)
}

// signal sends a signal to the present process, if one runs. One that ends it is no finding.
func (r *replica) signal(s syscall.Signal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.libretto == nil {
		return false
	}
	r.killed = r.killed || s == syscall.SIGKILL || s == syscall.SIGTERM
	return r.libretto.Signal(s) == nil
}

// stop ends the replica for good, and returns an error if it did not end as it was asked to.
func (r *replica) stop() error {
	r.cancel()
	r.signal(syscall.SIGCONT)
	<-r.ended
	r.mu.Lock()
	libretto := r.libretto
	r.mu.Unlock()
	var err error
	if libretto != nil && !libretto.Ended() {
		err = libretto.Stop()
		if explained.MatchString(lastLines(libretto.Log(), 5)) {
			err = nil
		}
	}
	return cmp.Or(err, r.proxy.Stop())
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func holder(lease *unstructured.Unstructured) string {
	identity, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	return identity
}
