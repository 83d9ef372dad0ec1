package hosting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// leaseTimeout is how long it may take until another process leads: the lease lasts for 6 s.
const leaseTimeout = 40 * time.Second

// candidate is a host that takes part in the election of a leader, with a user of its own, by which the audit log tells its requests.
type candidate struct {
	*cluster.Libretto
	user *env.User
}

func newCandidate(e *env.Env, name string, args ...string) candidate {
	e.T.Helper()
	user := e.NewUser(name)
	user.Bind("", "cluster-admin")
	ctx, cancel := context.WithTimeout(e.T.Context(), env.Timeout)
	defer cancel()
	host, err := e.Cluster.StartLibretto(ctx, append([]string{"-v=1", "--kubeconfig", user.Kubeconfig(), "--leader-elect",
		"--leader-elect-resource-namespace=" + e.Namespace, "--namespace=" + e.Namespace}, args...)...)
	e.NoError(err)
	e.T.Cleanup(func() {
		if err := host.Kill(); err != nil {
			e.T.Error(err)
		}
		if e.T.Failed() {
			e.T.Logf("the log of the %s:\n%s", name, host.Log())
		}
	})
	return candidate{host, user}
}

// writes returns what the candidate has written since the mark, or meant to, but for the lease.
func (c candidate) writes(e *env.Env, since cluster.Mark) cluster.Requests {
	e.T.Helper()
	return e.Requests(since).Writes().Filter(func(r cluster.Request) bool { return r.User == c.user.Name && r.Resource != "leases" })
}

// waitForWrites waits until the candidate writes, which the leader does all the time.
func (c candidate) waitForWrites(e *env.Env, since cluster.Mark) {
	e.T.Helper()
	cluster.Eventually(e.T, leaseTimeout, func() error {
		if len(c.writes(e, since)) == 0 {
			return fmt.Errorf("%s writes nothing", c.user.Name)
		}
		return nil
	})
}

// waitForWatch waits until the candidate watches a resource.
func (c candidate) waitForWatch(e *env.Env, since cluster.Mark, resource string) {
	e.T.Helper()
	e.Eventually(func() error {
		watches := e.Requests(since).Filter(func(r cluster.Request) bool {
			return r.User == c.user.Name && r.Verb == "watch" && r.Resource == resource
		})
		if len(watches) == 0 {
			return fmt.Errorf("%s does not watch %s", c.user.Name, resource)
		}
		return nil
	})
}

func holder(o *unstructured.Unstructured) string {
	identity, _, _ := unstructured.NestedString(o.Object, "spec", "holderIdentity")
	return identity
}

// newBusy returns an Env with parents whose children change every second.
func newBusy(t *testing.T) *env.Env {
	t.Helper()
	e := env.NewWithThings(t)
	e.Define(env.Composite, "", e.Parent("things", ""), "generateSelector: true", env.UpdatedChildren, env.Hooks(`
		export const sync = ({parent}) => ({
			children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {now: String(Date.now())}}],
			resyncAfterSeconds: 1,
		})`, "sync"))
	for n := range 30 {
		e.ApplyThing(fmt.Sprint("busy-", n), "", "")
	}
	return e
}

// TestStoppedLeaderWritesNothing stops a leader for so long that another one leads. When it is continued, it sends no write, and ends.
func TestStoppedLeaderWritesNothing(t *testing.T) {
	e := newBusy(t)
	first := newCandidate(e, "first")
	first.waitForWrites(e, e.Mark())
	second := newCandidate(e, "second")

	e.NoError(first.Signal(syscall.SIGSTOP))
	second.waitForWrites(e, e.Mark())
	mark := e.Mark()
	e.NoError(first.Signal(syscall.SIGCONT))
	e.Eventually(func() error {
		if !first.Ended() {
			return fmt.Errorf("the first leader still runs:\n%s", first.Log())
		}
		return nil
	})
	// One that had left without all of its body when the process was stopped is answered with an error, and writes nothing.
	writes := first.writes(e, mark).Filter(func(r cluster.Request) bool { return r.Code < http.StatusInternalServerError })
	if len(writes) > 0 {
		t.Errorf("it has sent %d writes since another leads:\n%s", len(writes), writes)
	}
	if err := first.Stop(); err == nil || !strings.Contains(first.Log(), "leader election: ") {
		t.Errorf("it has ended with %v, and does not say that the lease was lost", err)
	}
	second.waitForWrites(e, e.Mark()) // It still leads.
}

// TestLeaderEndsWhenAnotherIsSeen gives the lease to somebody else. The leader ends as soon as it reads that, and does not take it back.
func TestLeaderEndsWhenAnotherIsSeen(t *testing.T) {
	e := newBusy(t)
	leader := newCandidate(e, "first")
	leader.waitForWrites(e, e.Mark())
	if identity := holder(e.Get(leases, "metacontroller")); len(identity) < len("_")+36 {
		t.Errorf("the leader is called %q, which has no UUID", identity)
	}
	e.Patch(leases, "metacontroller", `{"spec": {"holderIdentity": "another"}}`)
	seen := time.Now()
	e.Eventually(func() error {
		if !leader.Ended() {
			return errors.New("it still runs")
		}
		return nil
	})
	if took := time.Since(seen); took > 8*time.Second {
		t.Errorf("it ended %s after another one was there: it renews every 2 s", took)
	}
	if now := holder(e.Get(leases, "metacontroller")); now != "another" {
		t.Errorf("the lease is held by %q, want another, whose it was", now)
	}
}

// TestFailover has leaders end in each way, and logs how long it takes until the other process writes: LIBRETTO_FAILOVERS says how often.
func TestFailover(t *testing.T) {
	e := newBusy(t)
	times, err := strconv.Atoi(cmp.Or(os.Getenv("LIBRETTO_FAILOVERS"), "1"))
	e.NoError(err)
	leader := newCandidate(e, "first")
	leader.waitForWrites(e, e.Mark())
	for n := range times {
		for way, end := range map[string]func(*cluster.Libretto) error{"terminated": (*cluster.Libretto).Stop, "killed": (*cluster.Libretto).Kill} {
			mark := e.Mark()
			next := newCandidate(e, fmt.Sprintf("%s-%d", way, n))
			next.waitForWatch(e, mark, "leases")
			next.waitForWatch(e, mark, "configmaps") // Its caches are filled.
			mark = e.Mark()
			e.NoError(end(leader.Libretto))
			ended := time.Now()
			next.waitForWrites(e, mark)
			t.Logf("%s: the next one writes after %s", way, next.writes(e, mark)[0].Time.Sub(ended).Round(10*time.Millisecond))
			leader = next
		}
	}
}
