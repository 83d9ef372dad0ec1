package hosting

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// shardLease is how long the leases of replicas last.
const shardLease = 3 * time.Second

// newReplica returns a host that shares work with others, or does not with one shard.
func newReplica(e *env.Env, name string, shards int) candidate {
	e.T.Helper()
	args := []string{"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=200ms"}
	if shards > 1 {
		args = append(args, fmt.Sprint("--shards=", shards))
	}
	return newCandidate(e, name, args...)
}

// shardsOf returns the ranges of each holder, by the end of its identity.
func shardsOf(e *env.Env) map[string][]string {
	e.T.Helper()
	held := map[string][]string{}
	for _, lease := range groupLeases(e) {
		if index, is := strings.CutPrefix(lease.GetName(), "metacontroller-shard-"); is {
			held[holder(lease)] = append(held[holder(lease)], index)
		}
	}
	return held
}

// groupLeases returns the leases of the replicas that share work.
func groupLeases(e *env.Env) map[string]*unstructured.Unstructured {
	e.T.Helper()
	return e.List(leases, "libretto.dev/shard-group=metacontroller")
}

// awaitShards waits until so many ranges are held, by so many holders that each have about equally many, and returns them.
func awaitShards(e *env.Env, most time.Duration, count, holders int) map[string][]string {
	e.T.Helper()
	var held map[string][]string
	cluster.Eventually(e.T, most, func() error {
		held = shardsOf(e)
		all, least, greatest := 0, count, 0
		for _, indexes := range held {
			all, least, greatest = all+len(indexes), min(least, len(indexes)), max(greatest, len(indexes))
		}
		if all != count || len(held) != holders || held[""] != nil || greatest-least > 1 {
			return fmt.Errorf("shards are held by %v, want %d by %d", held, count, holders)
		}
		return nil
	})
	return held
}

// identityOf returns the identity of a replica that is the only one with another than before.
func identityOf(e *env.Env, held map[string][]string, before ...string) string {
	e.T.Helper()
	for identity := range held {
		if !slices.Contains(before, identity) {
			return identity
		}
	}
	e.T.Fatalf("no other one has shards: %v", held)
	return ""
}

// moved counts the ranges that have another holder.
func moved(before, after map[string][]string) (n int) {
	for identity, indexes := range after {
		for _, index := range indexes {
			if !slices.Contains(before[identity], index) {
				n++
			}
		}
	}
	return n
}

// TestShards has replicas join, be killed, terminated and stopped, and logs how long it takes until each range is held again.
func TestShards(t *testing.T) {
	e := env.New(t)
	a := newReplica(e, "a", 4)
	one := awaitShards(e, env.Timeout, 4, 1)
	first := identityOf(e, one)
	b := newReplica(e, "b", 4)
	two := awaitShards(e, env.Timeout, 4, 2)
	second := identityOf(e, two, first)
	c := newReplica(e, "c", 4)
	three := awaitShards(e, env.Timeout, 4, 3)
	if n := moved(one, two); n != 2 {
		t.Errorf("%d shards moved to the second replica, want 2", n)
	}
	if n := moved(two, three); n != 1 {
		t.Errorf("%d shards moved to the third replica, want 1", n)
	}
	e.Eventually(func() error {
		text, err := b.MetricsText(t.Context())
		if series := `libretto_shard_held{shard="` + three[second][0] + `"} 1`; !strings.Contains(string(text), series) {
			return fmt.Errorf("the holder has no %s (%v)", series, err)
		}
		return nil
	})

	e.NoError(a.Kill())
	began := time.Now()
	rest := awaitShards(e, shardLease+2*time.Second, 4, 2)
	t.Logf("killed: each shard is held again after %s", time.Since(began).Round(10*time.Millisecond))
	if took := time.Since(began); took > shardLease+time.Second {
		t.Errorf("it took %s until the shards of one that was killed were held again, want %s at most", took, shardLease+time.Second)
	}
	third := identityOf(e, rest, second)

	stopped := make(chan error, 1)
	began = time.Now()
	go func() { stopped <- c.Stop() }()
	awaitShards(e, env.Timeout, 4, 1)
	t.Logf("terminated: each shard is held again after %s", time.Since(began).Round(10*time.Millisecond))
	e.NoError(<-stopped)
	e.Eventually(func() error {
		for _, lease := range groupLeases(e) {
			if holder(lease) == third || strings.HasSuffix(lease.GetName(), third[strings.LastIndex(third, "_")+1:]) {
				return fmt.Errorf("the lease %s of one that has ended is left", lease.GetName())
			}
		}
		return nil
	})

	d := newReplica(e, "d", 4)
	four := awaitShards(e, env.Timeout, 4, 2)
	e.NoError(b.Signal(syscall.SIGSTOP))
	awaitShards(e, shardLease+5*time.Second, 4, 1)
	mark := e.Mark()
	e.NoError(b.Signal(syscall.SIGCONT))
	e.Eventually(func() error {
		if !b.Ended() {
			return errors.New("one that was stopped for longer than its lease still runs")
		}
		return nil
	})
	if writes := b.writes(e, mark); len(writes) > 0 {
		t.Errorf("it has sent %d writes since another one has its shards:\n%s", len(writes), writes)
	}
	now := shardsOf(e)
	if want := identityOf(e, four, second); len(now[want]) != 4 || !strings.Contains(b.Log(), "leader election: ") {
		t.Errorf("shards are held by %v, want %s, and the log to say why the other one has ended:\n%s", now, want, b.Log())
	}
	e.NoError(d.Stop())
	if held := shardsOf(e); len(held[""]) != 4 {
		t.Errorf("the last one has ended, and shards are held by %v", slices.Collect(maps.Keys(held)))
	}
}

// TestOtherShards starts replicas that divide otherwise, or not at all, beside one that has all shards: they wait, and say so, until it has
// ended.
func TestOtherShards(t *testing.T) {
	e := newBusy(t)
	first := newReplica(e, "first", 4)
	awaitShards(e, env.Timeout, 4, 1)
	mark := e.Mark()
	other, none := newReplica(e, "other", 2), newReplica(e, "none", 1)
	for waits, want := range map[*candidate]string{
		&other: "was started with --shards=4, and this process with --shards=2", &none: "waiting: a replica with --shards works",
	} {
		e.Eventually(func() error {
			if !strings.Contains(waits.Log(), want) {
				return fmt.Errorf("%s does not say %q:\n%s", waits.user.Name, want, waits.Log())
			}
			return nil
		})
	}
	first.waitForWrites(e, mark)
	first.waitForWrites(e, e.Mark()) // The others would have written by now.
	for _, waits := range []candidate{other, none} {
		writes := waits.writes(e, mark).Filter(func(r cluster.Request) bool {
			return r.Resource != "events" && !strings.Contains(r.Resource, "reviews")
		})
		if len(writes) > 0 {
			t.Errorf("%s has sent %d writes while it waits:\n%s", waits.user.Name, len(writes), writes)
		}
	}
	e.NoError(none.Stop())
	e.NoError(first.Stop())
	awaitShards(e, env.Timeout, 2, 1)
	none = newReplica(e, "none-again", 1)
	e.NoError(other.Stop())
	mark = e.Mark()
	none.waitForWrites(e, mark)
	if lease := e.Get(leases, "metacontroller"); holder(lease) == "" {
		t.Error("nobody holds the lease of a host without shards, which works")
	}
}
