package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/libretto-k8s/libretto/test/chaos/history"
	"github.com/libretto-k8s/libretto/test/delayproxy"
	"github.com/libretto-k8s/libretto/test/env"
)

// fault is a kind of fault. It is injected before an edit. The function that it returns is called after the edit was written, waits until
// the fault has had its effect or its time is over, and undoes it. A nil one has nothing to wait for.
type fault struct {
	name   string
	inject func(ctx context.Context, i *injection) (end func(context.Context) error, err error)
}

// faultTime is how long a fault lasts that does not end by itself before.
const faultTime = 2 * time.Second

// kinds are all faults.
func kinds() []fault {
	return []fault{
		{"host killed at a write", killAtWrite},
		{"API server killed and started again", killServer},
		{"API server stopped and continued", stopServer},
		{"history compacted, API server started again", compact},
		{"storm of 410", storm(410, 0.5, "list", "watch")},
		{"storm of 429", storm(429, 0.3)},
		{"storm of 500", storm(500, 0.3)},
		{"conflicts answered", storm(409, 0.5, "update", "patch", "delete")},
		{"one write in ten refused", storm(403, 0.1, "create", "update", "patch", "delete")},
		{"one write in ten refused by a policy", refuse},
		{"replies to writes lost", spoil(delayproxy.Fault{Verbs: writeVerbs, Chance: 0.3, Lost: true})},
		{"requests lost", spoil(delayproxy.Fault{Chance: 0.3, Unreachable: true})},
		{"leader cut off", cutOff},
		{"watches cut", cutWatches},
		{"watches delayed", delayWatches},
		{"watches reordered between resources", reorderWatches},
		{"replies delayed", delayReplies},
		{"another writer touches all objects", touch},
		{"another writer spoils and deletes children", vandalize},
		{"no quota for new children", exhaustQuota},
		{"lease taken by a clock that is wrong", forgeLease},
		{"leader stopped past its lease, and continued", stopLeader},
		{"leader leaves", leave},
		{"replica joins and leaves", visit},
		{"all hosts killed", killAll},
		{"disk of scripts full", fillDisk},
	}
}

// choose returns the n-th fault. Of as many as there are kinds each kind comes once, in an order of its own each time. If the options have
// a part of a name, all are of the kind with that.
func (o Options) choose(n int) (fault, error) {
	all := kinds()
	if o.Kind != "" {
		at := slices.IndexFunc(all, func(f fault) bool { return strings.Contains(f.name, o.Kind) })
		if at < 0 {
			return fault{}, fmt.Errorf("no kind of fault has %q in its name", o.Kind)
		}
		return all[at], nil
	}
	round, at := (n-1)/len(all), (n-1)%len(all)
	order := rand.New(rand.NewPCG(o.Seed, uint64(round))).Perm(len(all))
	return all[order[at]], nil
}

// refuses reports whether what hosts write is refused for so long that the step of a rollout fails, and is taken back.
func (f fault) refuses() bool {
	return strings.Contains(f.name, "refused") || strings.Contains(f.name, "quota")
}

var writeVerbs = []string{"create", "update", "patch", "delete"}

// injection is one fault of a run.
type injection struct {
	*run
	number int
	rand   *rand.Rand
	seed   uint64
	detail string
}

func (i *injection) sayf(format string, args ...any) {
	i.detail = "(" + fmt.Sprintf(format, args...) + ")"
}

// between returns a random time.
func (i *injection) between(shortest, longest time.Duration) time.Duration {
	return (shortest + time.Duration(i.rand.Int64N(int64(longest-shortest)))).Round(time.Millisecond)
}

// countWrites has the proxies count writes of children, parents and revisions, and nothing go wrong.
func (i *injection) countWrites() {
	i.each(func(p *delayproxy.Proxy) { p.SetFaults(i.seed, counting()) })
}

// counting is no fault: it hits the writes of a rollout, to which nothing happens.
func counting() delayproxy.Fault {
	return delayproxy.Fault{Verbs: writeVerbs, Resources: rolloutResources}
}

// rolloutResources are those that hosts write for a rollout.
var rolloutResources = []string{
	"configmaps", "things", "things/status", "controllerrevisions",
	"compositecontrollers/status", "decoratorcontrollers/status", "mapcontrollers/status",
}

func (i *injection) each(do func(*delayproxy.Proxy)) {
	for _, r := range i.replicas {
		do(r.proxy)
	}
}

// hits returns how many requests the present faults have hit.
func (i *injection) hits() int {
	hits := 0
	i.each(func(p *delayproxy.Proxy) { hits += p.Hits() })
	return hits
}

// waitForHits waits until so many requests were hit, or the time is over: less may happen than a fault waits for.
func (i *injection) waitForHits(ctx context.Context, n int, bound time.Duration) {
	_ = until(ctx, bound, func(context.Context) error {
		if i.hits() < n {
			return errors.New("not yet")
		}
		return nil
	})
}

// spoil has a proxy's fault go on until it has hit some requests.
func spoil(f delayproxy.Fault) func(context.Context, *injection) (func(context.Context) error, error) {
	return func(_ context.Context, i *injection) (func(context.Context) error, error) {
		i.each(func(p *delayproxy.Proxy) { p.SetFaults(i.seed, f) })
		return func(ctx context.Context) error {
			i.waitForHits(ctx, 15, faultTime)
			return nil
		}, nil
	}
}

func storm(code int, chance float64, verbs ...string) func(context.Context, *injection) (func(context.Context) error, error) {
	return func(ctx context.Context, i *injection) (func(context.Context) error, error) {
		end, err := spoil(delayproxy.Fault{Verbs: verbs, Chance: chance, Status: code})(ctx, i)
		if code == 410 { // It is an answer to those who come back.
			i.each(func(p *delayproxy.Proxy) { p.CutWatches() })
		}
		return end, err
	}
}

// writesOfEdit is about how many writes hosts do for an edit.
const writesOfEdit = 130

// killAtWrite kills the host that sends the n-th write of the edit, before or after the API server has done it.
func killAtWrite(_ context.Context, i *injection) (func(context.Context) error, error) {
	n, after := i.rand.IntN(writesOfEdit), i.rand.IntN(2) == 1
	if i.Kind != "" { // All of them, one after another.
		n, after = (i.number-1)/2%writesOfEdit, i.number%2 == 0
	}
	i.sayf("write %d, %s it was done", n+1, map[bool]string{false: "before", true: "after"}[after])
	for _, r := range i.replicas {
		r.proxy.SetFaults(i.seed, delayproxy.Fault{
			Verbs: writeVerbs, Resources: rolloutResources, Skip: n, Times: 1, Lost: after,
			Hit: func() { r.signal(syscall.SIGKILL) },
		})
	}
	return func(ctx context.Context) error {
		i.waitForHits(ctx, 1, faultTime)
		return nil
	}, nil
}

// afterWrites waits for a random number of writes.
func (i *injection) afterWrites(ctx context.Context) {
	i.waitForHits(ctx, 1+i.rand.IntN(40), faultTime)
}

// during runs something while an edit is written, and waits for it after that.
func during(do func(ctx context.Context) error) func(context.Context) error {
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), injectTimeout)
	go func() {
		defer cancel()
		ended <- do(ctx)
	}()
	return func(context.Context) error { return <-ended }
}

func killServer(_ context.Context, i *injection) (func(context.Context) error, error) {
	return during(func(ctx context.Context) error {
		i.afterWrites(ctx)
		return errors.Join(i.Cluster.Kill(), i.Cluster.Restart(ctx))
	}), nil
}

func compact(_ context.Context, i *injection) (func(context.Context) error, error) {
	return during(func(ctx context.Context) error {
		i.afterWrites(ctx)
		i.each(func(p *delayproxy.Proxy) { p.CutWatches() })
		return errors.Join(i.Cluster.Signal(syscall.SIGUSR1), i.Cluster.Kill(), i.Cluster.Restart(ctx))
	}), nil
}

func stopServer(_ context.Context, i *injection) (func(context.Context) error, error) {
	length := i.between(200*time.Millisecond, 6*time.Second) // It may be longer than the lease.
	i.sayf("for %s", length)
	return during(func(ctx context.Context) error {
		i.afterWrites(ctx)
		return errors.Join(i.Cluster.Signal(syscall.SIGSTOP), pause(ctx, length), i.Cluster.Signal(syscall.SIGCONT))
	}), nil
}

// leader returns the replica that renews the lease, and its identity.
func (i *injection) leader(ctx context.Context) (*replica, string, error) {
	var leader *replica
	var identity string
	err := until(ctx, settleTimeout, func(ctx context.Context) error {
		requests, err := i.Cluster.Requests(ctx, i.mark, env.UserAgent)
		if err != nil {
			return err
		}
		writes, err := history.Read(requests.In(i.Namespace).Of(leases.Group, leases.Resource))
		if err != nil {
			return err
		}
		process := ""
		process, identity = history.Holder(writes, i.lease)
		for _, r := range i.replicas {
			if r.process() == process && process != "" {
				leader = r
				return nil
			}
		}
		return fmt.Errorf("%q leads, which is none of the replicas", process)
	})
	return leader, identity, err
}

// untilAnotherLeads waits until a lease has another holder than it had.
func (i *injection) untilAnotherLeads(ctx context.Context, than string) error {
	return until(ctx, settleTimeout, func(ctx context.Context) error {
		lease, err := i.leaseNow(ctx)
		if err != nil {
			return err
		}
		if now := holder(lease); now == "" || now == than {
			return fmt.Errorf("the lease is still held by %q", now)
		}
		return nil
	})
}

func cutOff(ctx context.Context, i *injection) (func(context.Context) error, error) {
	leader, identity, err := i.leader(ctx)
	if err != nil {
		return nil, err
	}
	return during(func(ctx context.Context) error {
		i.afterWrites(ctx)
		leader.proxy.SetFaults(i.seed, delayproxy.Fault{Unreachable: true})
		leader.proxy.CutWatches()
		return i.untilAnotherLeads(ctx, identity)
	}), nil
}

func stopLeader(ctx context.Context, i *injection) (func(context.Context) error, error) {
	leader, identity, err := i.leader(ctx)
	if err != nil {
		return nil, err
	}
	return during(func(ctx context.Context) error {
		i.afterWrites(ctx)
		if !leader.signal(syscall.SIGSTOP) {
			return nil // It has lost its lease, and is just being started again.
		}
		err := i.untilAnotherLeads(ctx, identity)
		leader.signal(syscall.SIGCONT)
		return err
	}), nil
}

func leave(ctx context.Context, i *injection) (func(context.Context) error, error) {
	leader, _, err := i.leader(ctx)
	if err != nil {
		return nil, err
	}
	return during(func(ctx context.Context) error {
		i.afterWrites(ctx)
		leader.signal(syscall.SIGTERM)
		return nil
	}), nil
}

// visit has a third replica that is there for a while, and leads if the two others are killed.
func visit(ctx context.Context, i *injection) (func(context.Context) error, error) {
	leads := i.rand.IntN(2) == 1
	i.sayf("which leads meanwhile: %v", leads)
	if err := i.join("c"); err != nil {
		return nil, err
	}
	guest := i.replicas[len(i.replicas)-1]
	_, identity, err := i.leader(ctx)
	return during(func(ctx context.Context) error {
		i.afterWrites(ctx)
		if leads {
			for _, r := range i.replicas[:2] {
				r.signal(syscall.SIGKILL)
			}
			err = errors.Join(err, i.untilAnotherLeads(ctx, identity))
		}
		i.replicas = i.replicas[:2]
		return errors.Join(err, guest.stop())
	}), err
}

func killAll(_ context.Context, i *injection) (func(context.Context) error, error) {
	return during(func(ctx context.Context) error {
		i.afterWrites(ctx)
		for _, r := range i.replicas {
			r.signal(syscall.SIGKILL)
		}
		return nil
	}), nil
}

// cutWatches cuts all watches some times.
func cutWatches(_ context.Context, i *injection) (func(context.Context) error, error) {
	times := 1 + i.rand.IntN(4)
	return during(func(ctx context.Context) error {
		cut := 0
		for n := range times {
			i.waitForHits(ctx, 10*n+i.rand.IntN(10), faultTime/time.Duration(times))
			i.each(func(p *delayproxy.Proxy) { cut += p.CutWatches() })
		}
		return nil
	}), nil
}

// slow has rules for all proxies until some writes were done, or the time is over.
func (i *injection) slow(rules ...delayproxy.Rule) (func(context.Context) error, error) {
	var texts []string
	for _, r := range rules {
		texts = append(texts, strings.TrimSpace(fmt.Sprintf("%s %s", strings.Join(r.Resources, " "), max(r.Events, r.Reply))))
	}
	i.sayf("%s", strings.Join(texts, ", "))
	i.each(func(p *delayproxy.Proxy) { p.Set(rules...) })
	return func(ctx context.Context) error {
		i.waitForHits(ctx, 150, faultTime)
		return nil
	}, nil
}

func delayWatches(_ context.Context, i *injection) (func(context.Context) error, error) {
	return i.slow(delayproxy.Watches(i.between(100*time.Millisecond, 1500*time.Millisecond)))
}

func reorderWatches(_ context.Context, i *injection) (func(context.Context) error, error) {
	var rules []delayproxy.Rule
	for _, resource := range []string{"configmaps", "things", "controllerrevisions", "compositecontrollers", "leases"} {
		rules = append(rules, delayproxy.Rule{
			Verbs: []string{"watch"}, Resources: []string{resource}, Events: i.between(0, 1500*time.Millisecond),
		})
	}
	return i.slow(rules...)
}

func delayReplies(_ context.Context, i *injection) (func(context.Context) error, error) {
	return i.slow(delayproxy.Rule{Verbs: writeVerbs, Reply: i.between(20*time.Millisecond, 400*time.Millisecond)})
}
