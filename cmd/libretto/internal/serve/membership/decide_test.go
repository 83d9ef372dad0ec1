package membership

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

const lasts = 6 * time.Second

var start = time.Unix(1000, 0)

// seen returns leases as a member of the group has seen them: those of members as "a-1 ready 4 0s", which are the identity, the state, what
// --shards says and for how long the lease was not renewed; then the holders of the ranges, of which "-" has no lease and "" has none; then
// the number of ranges that are fixed.
func seen(members, holders []string, fixed int) observations {
	o := observations{}
	add := func(lease *coordinationv1.Lease, age time.Duration) {
		lease.ResourceVersion = strconv.Itoa(len(o) + 1)
		o.set(lease, start.Add(-age))
	}
	for _, member := range members {
		fields := strings.Split(member, " ")
		count, _ := strconv.Atoi(fields[2])
		group := Group{"g", count}
		name, labels := group.Member("host_" + fields[0])
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{stateAnnotation: strings.TrimPrefix(fields[1], "-")}},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("host_" + fields[0]), LeaseDurationSeconds: new(int32(lasts / time.Second))},
		}
		if fields[1] == "gone" {
			lease = released(lease)
		}
		age, _ := time.ParseDuration(fields[3])
		add(lease, age)
	}
	group := Group{"g", 4}
	for i, holder := range holders {
		switch holder {
		case "-":
		case "":
			add(group.lease(group.rangeName(i)), 0)
		default:
			add(group.held(nil, i, "host_"+holder, start), 0)
		}
	}
	if fixed > 0 {
		add(group.partition(nil, shard.Divide(nil, fixed)), 0)
	}
	return o
}

// TestDecide has what the member a decides in a group with four ranges.
func TestDecide(t *testing.T) {
	free := []string{"-", "-", "-", "-"}
	works := func(phases ...phase) map[int]phase {
		all := map[int]phase{}
		for i, phase := range phases {
			if phase != 0 {
				all[i] = phase
			}
		}
		return all
	}
	cases := map[string]struct {
		members, holders []string
		fixed            int
		phases           map[int]phase
		draining         bool
		want             decision
		expired          []string
		waits            string
	}{
		"its lease is not seen yet": {holders: free, fixed: 4},
		"it begins":                 {members: []string{"a - 4 0s"}, holders: free, fixed: 4, want: decision{ready: true}},
		"others have another number": {
			members: []string{"a - 4 0s", "b ready 8 5s"}, holders: free, fixed: 8, waits: "host_b was started with --shards=8",
		},
		"one with another number may still renew": {
			members: []string{"a - 4 0s", "b ready 8 9s"}, holders: free, fixed: 8, waits: "host_b", expired: []string{"g-b"},
		},
		"those with another number are gone": {members: []string{"a - 4 0s", "b gone 8 0s"}, holders: free, fixed: 8, want: decision{ready: true}},
		"one with another number came later": {
			members: []string{"a ready 4 0s", "b - 8 0s"}, holders: []string{"a", "a", "a", ""}, fixed: 4, phases: works(running, running, running),
			want: decision{take: []int{3}},
		},
		"nothing is fixed":     {members: []string{"a ready 4 0s"}, holders: free, want: decision{divide: true}},
		"what is fixed is old": {members: []string{"a ready 4 0s"}, holders: free, fixed: 8, want: decision{divide: true}},
		"alone":                {members: []string{"a ready 4 0s"}, holders: free, fixed: 4, want: decision{take: []int{0, 1, 2, 3}}},
		"with one that can't yet": {
			members: []string{"a ready 4 0s", "b - 4 0s"}, holders: free, fixed: 4, want: decision{take: []int{0, 1, 2, 3}},
		},
		"with another": {members: []string{"a ready 4 0s", "b ready 4 0s"}, holders: free, fixed: 4, want: decision{take: []int{0, 2}}},
		"it has taken": {
			members: []string{"a ready 4 0s"}, holders: []string{"a", "a", "a", "a"}, fixed: 4, phases: works(running, running),
			want: decision{start: []int{2, 3}},
		},
		"another one joined": {
			members: []string{"a ready 4 0s", "b ready 4 0s"}, holders: []string{"a", "a", "a", "a"}, fixed: 4,
			phases: works(running, running, running, running), want: decision{stop: []int{3}},
		},
		"and gets one at a time": {
			members: []string{"a ready 4 0s", "b ready 4 0s"}, holders: []string{"a", "a", "a", "a"}, fixed: 4,
			phases: works(running, running, running, stopping),
		},
		"what has ended is given up": {
			members: []string{"a ready 4 0s", "b ready 4 0s"}, holders: []string{"a", "a", "a", "a"}, fixed: 4,
			phases: works(running, running, running, stopped), want: decision{free: []int{3}},
		},
		"then the other one takes it": {
			members: []string{"a ready 4 0s", "b ready 4 0s"}, holders: []string{"a", "a", "a", ""}, fixed: 4,
			phases: works(running, running, running, stopped), want: decision{forget: []int{3}},
		},
		"balanced": {
			members: []string{"a ready 4 0s", "b ready 4 0s", "c ready 4 0s"}, holders: []string{"a", "a", "b", "c"}, fixed: 4,
			phases: works(running, running),
		},
		"one was killed, and its lease is not over": {
			members: []string{"a ready 4 0s", "b ready 4 5s"}, holders: []string{"a", "a", "b", "b"}, fixed: 4, phases: works(running, running),
			want: decision{next: start.Add(time.Second)},
		},
		"its lease is over": {
			members: []string{"a ready 4 0s", "b ready 4 6s"}, holders: []string{"a", "a", "b", "b"}, fixed: 4, phases: works(running, running),
			expired: []string{"g-b"},
		},
		"it has lost its lease": {
			members: []string{"a ready 4 0s", "b gone 4 6s"}, holders: []string{"a", "a", "b", "b"}, fixed: 4, phases: works(running, running),
			want: decision{take: []int{2, 3}},
		},
		"its lease was deleted": {
			members: []string{"a ready 4 0s"}, holders: []string{"a", "a", "b", "b"}, fixed: 4, phases: works(running, running),
			want: decision{next: start.Add(lasts)},
		},
		"one ends": {
			members: []string{"a ready 4 0s", "b draining 4 0s"}, holders: []string{"a", "a", "b", ""}, fixed: 4, phases: works(running, running),
			want: decision{take: []int{3}},
		},
		"it ends":        {members: []string{"a draining 4 0s"}, holders: []string{"a", "", "", "a"}, fixed: 4, phases: works(stopping, 0, 0, stopped), draining: true, want: decision{free: []int{3}}},
		"it has ended":   {members: []string{"a draining 4 0s"}, holders: []string{"", "", "", ""}, fixed: 4, draining: true, want: decision{done: true}},
		"it ends unseen": {holders: free, fixed: 4, draining: true, want: decision{done: true}},
		"it ends, and has one that it did not know of": {
			members: []string{"a draining 4 0s"}, holders: []string{"a", "", "", ""}, fixed: 4, draining: true, want: decision{free: []int{0}},
		},
		"the lease of its range was deleted": {
			members: []string{"a ready 4 0s"}, holders: []string{"-", "a", "a", "a"}, fixed: 4, phases: works(running, running, running, running),
			want: decision{take: []int{0}},
		},
		"its range was given to another": {
			members: []string{"a ready 4 0s", "b ready 4 0s"}, holders: []string{"b", "a", "b", "a"}, fixed: 4, phases: works(running, running, 0, running),
			want: decision{lost: 0},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			self := own{identity: "host_a", duration: lasts, draining: c.draining, phases: c.phases}
			if self.phases == nil {
				self.phases = map[int]phase{}
			}
			got := Group{"g", 4}.decide(seen(c.members, c.holders, c.fixed), self, start)
			if c.want.lost == 0 && name != "its range was given to another" {
				c.want.lost = -1
			}
			var expired []string
			for _, lease := range got.expired {
				expired = append(expired, lease.Name)
			}
			if c.want.next.IsZero() && len(c.members) > 0 {
				got.next = time.Time{} // That of others.
			}
			ignored := cmpopts.IgnoreFields(decision{}, "expired", "remove", "ranges", "waits", "partition", "shards")
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(decision{}), ignored, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if d := cmp.Diff(c.expired, expired); d != "" {
				t.Errorf("members that lose their leases, -want +got:\n%s", d)
			}
			if (c.waits == "") != (got.waits == "") || !strings.Contains(got.waits, c.waits) {
				t.Errorf("it waits because %q, want %q", got.waits, c.waits)
			}
		})
	}
}

// TestRemoved has the leases that nobody needs: of members that have ended long ago, and of ranges that there are no more.
func TestRemoved(t *testing.T) {
	o := seen([]string{"a ready 4 0s", "b gone 4 59s", "c gone 4 60s", "d ready 4 5s"}, []string{"", "", "", "", "c"}, 4)
	d := Group{"g", 4}.decide(o, own{identity: "host_a", duration: lasts}, start)
	got := map[string]bool{}
	for _, lease := range d.remove {
		got[lease.Name] = true
	}
	if d := cmp.Diff(map[string]bool{"g-c": true, "g-shard-4": true}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestObservations checks that what is old is not taken for a renewal.
func TestObservations(t *testing.T) {
	o := observations{}
	lease := func(version string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version}}
	}
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	o.set(lease("9"), at(0))
	o.set(lease("9"), at(1))
	o.set(lease("8"), at(2))
	if o["a"].since != at(0) || o["a"].version != "9" {
		t.Errorf("an old version is a renewal: %v", o["a"])
	}
	o.set(lease("10"), at(3))
	if o["a"].since != at(3) {
		t.Errorf("a new version is no renewal: %v", o["a"])
	}
	o.delete(lease("11"), at(4))
	o.set(lease("10"), at(5))
	if o["a"].lease != nil || o["a"].since != at(4) {
		t.Errorf("what was deleted is back: %v", o["a"])
	}
	o.set(lease("12"), at(6))
	o.delete(lease("11"), at(7))
	if o["a"].lease == nil {
		t.Error("the deletion of an earlier one is taken for that of the one that is there")
	}
}
