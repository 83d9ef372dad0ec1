package membership

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

// phase is what a member does with a range that it holds.
type phase int

const (
	running  phase = iota + 1
	stopping       // It ends what hosts the range.
	stopped        // Nothing of it works any more.
)

// own is what a member knows of itself.
type own struct {
	identity string
	duration time.Duration // Of leases.
	draining bool
	phases   map[int]phase
}

// decision is what a member does next.
type decision struct {
	// ready is set if it may begin to take ranges, once no unsharded host holds the lease of the group's name.
	ready bool
	// divide is set if the ranges are to be fixed anew.
	divide bool
	// ranges are those that are fixed, or nil if this member can't use them.
	ranges []shard.Range
	// expired are leases whose holders lose them, and remove those that nobody needs.
	expired, remove []*coordinationv1.Lease
	// Indexes of ranges: take and free change the lease, start and stop what hosts the range, and of those of forget nothing is left.
	take, free, start, stop, forget []int
	// partition and shards are the leases that this was decided by, or nil where there is none: what is newer is not written over.
	partition *coordinationv1.Lease
	shards    []*coordinationv1.Lease
	// lost is a range that works here, though another one holds it, or -1.
	lost int
	// waits says why no range can be taken, or is empty.
	waits string
	// done is set once a member that ends has no range any more.
	done bool
	// next is when to decide again, if nothing changes before. Zero means never.
	next time.Time
}

// longAgo is how many times as long as a lease one that is over is kept, for those who look for holders of ranges.
const longAgo = 10

// decide returns what a member does. It changes nothing but that it notes in leases which it has missed.
func (g Group) decide(leases observations, self own, now time.Time) decision {
	v := g.view(leases, self, now)
	d := &v.decision
	state := v.stateOf(self.identity)
	switch {
	case v.other != "":
		d.waits = v.other
	case !self.draining && state == "" && v.alive[self.identity] != nil:
		d.ready = true
	}
	if state == "" {
		d.done = self.draining && len(self.phases) == 0
		return *d
	}
	d.waits = "" // Who could begin is not stopped by those who come later.
	if ranges, err := shard.Parse(v.fixed()); err == nil && len(ranges) == g.Count {
		d.ranges = ranges
	} else if d.divide = !self.draining; d.divide {
		return *d
	}
	v.tend(self)
	if !self.draining {
		d.take = append(d.take, v.taken(self.identity)...)
		d.stop = v.surplus(self)
	}
	d.done = self.draining && len(self.phases) == 0 && len(d.free) == 0
	return *d
}

// view is what a member sees of its group.
type view struct {
	decision
	count   int
	alive   map[string]*coordinationv1.Lease // The leases of members, by identity.
	holders []string                         // Of ranges. Empty if nobody alive holds one.
	// other says which member was started for another number of ranges, or is empty.
	other string
}

// view returns what a member sees, with what it does to the leases of others.
func (g Group) view(leases observations, self own, now time.Time) *view {
	v := &view{
		count: g.Count, alive: map[string]*coordinationv1.Lease{}, holders: make([]string, g.Count),
		decision: decision{lost: -1, partition: leases[g.partitionName()].lease},
	}
	for _, known := range leases {
		if lease := known.lease; lease != nil && isMember(lease) {
			v.seeMember(g, known, self, now)
		}
	}
	for i := range v.holders {
		lease := leases[g.rangeName(i)].lease
		if v.shards = append(v.shards, lease); lease != nil {
			v.holders[i] = v.holder(g, leases, holderOf(lease), self, now)
		}
	}
	if v.stateOf(self.identity) != "" { // All who take ranges have as many of them.
		for _, known := range leases {
			if known.lease == nil {
				continue
			}
			if index, is := g.rangeIndex(known.lease.Name); is && index >= g.Count {
				v.remove = append(v.remove, known.lease)
			}
		}
	}
	return v
}

// seeMember notes a lease of a member. Only who has lost it does not count: as long as a member could renew it, it may work.
func (v *view) seeMember(g Group, known observed, self own, now time.Time) {
	lease := known.lease
	identity := holderOf(lease)
	switch expiry := known.expiry(); {
	case identity == "":
		if removal := known.since.Add(longAgo * self.duration); now.Before(removal) {
			v.wake(removal)
		} else {
			v.remove = append(v.remove, lease)
		}
		return
	case identity == self.identity:
	case now.Before(expiry):
		v.wake(expiry)
	default:
		v.expired = append(v.expired, lease)
	}
	v.alive[identity] = lease
	if count := lease.Labels[CountLabel]; count != strconv.Itoa(g.Count) && identity > v.other {
		v.other = fmt.Sprintf("%s was started with --shards=%s, and this process with --shards=%d: all replicas need the same number. "+
			"This one works once those with another one are gone", identity, count, g.Count)
	}
}

// holder returns who holds a range, if it may be alive. A member without a lease may have had one that it could still write by.
func (v *view) holder(g Group, leases observations, identity string, self own, now time.Time) string {
	if identity == "" || v.alive[identity] != nil {
		return identity
	}
	known := leases.find(g.memberName(identity), now)
	if known.lease != nil {
		return ""
	}
	expiry := known.since.Add(self.duration)
	if !now.Before(expiry) {
		return ""
	}
	v.wake(expiry)
	return identity
}

// fixed returns the text of the ranges.
func (v *view) fixed() string {
	if v.partition == nil {
		return ""
	}
	return v.partition.Annotations[rangesAnnotation]
}

func (v *view) wake(at time.Time) {
	if v.next.IsZero() || at.Before(v.next) {
		v.next = at
	}
}

func (v *view) stateOf(identity string) string {
	if lease := v.alive[identity]; lease != nil {
		return lease.Annotations[stateAnnotation]
	}
	return ""
}

// tend brings what works here in line with the leases.
func (v *view) tend(self own) {
	for i, holder := range v.holders {
		switch phase, mine := self.phases[i], holder == self.identity; {
		case phase == 0 && mine && self.draining, phase == stopped && mine:
			v.free = append(v.free, i)
		case phase == 0 && mine:
			v.start = append(v.start, i)
		case phase == stopped:
			v.forget = append(v.forget, i)
		case phase != 0 && holder == "": // Somebody has deleted the lease.
			v.holders[i], v.take = self.identity, append(v.take, i)
		case phase != 0 && !mine:
			v.lost = i
		}
	}
}

// counted is a member that takes ranges, and how many it has.
type counted struct {
	identity string
	ranges   int
}

// takers returns the members that take ranges, those with the fewest first.
func (v *view) takers() []counted {
	var all []counted
	for identity := range v.alive {
		if v.stateOf(identity) == stateReady {
			all = append(all, counted{identity, 0})
		}
	}
	for i := range all {
		for _, holder := range v.holders {
			if holder == all[i].identity {
				all[i].ranges++
			}
		}
	}
	sortCounted(all)
	return all
}

func sortCounted(all []counted) {
	slices.SortFunc(all, func(a, b counted) int { return cmp.Or(a.ranges-b.ranges, cmp.Compare(a.identity, b.identity)) })
}

// taken returns the ranges that a member takes. Each one without a holder is taken by the member with the fewest, which is the same one for
// all who see the same.
func (v *view) taken(identity string) (indexes []int) {
	takers := v.takers()
	for i, holder := range v.holders {
		if holder != "" || len(takers) == 0 {
			continue
		}
		if takers[0].identity == identity {
			indexes = append(indexes, i)
		}
		takers[0].ranges++
		sortCounted(takers)
	}
	return indexes
}

// surplus returns the range that a member gives up: one at a time, and only the member with the most gives up one, if another one has two
// fewer. That is the least that there is to move.
func (v *view) surplus(self own) []int {
	takers := v.takers()
	if len(takers) < 2 || slices.Contains(v.holders, "") {
		return nil
	}
	for _, phase := range self.phases {
		if phase != running {
			return nil
		}
	}
	fewest, most := takers[0].ranges, takers[len(takers)-1]
	if most.identity != self.identity || most.ranges-fewest < 2 {
		return nil
	}
	for i := v.count - 1; i >= 0; i-- {
		if v.holders[i] == self.identity && self.phases[i] == running {
			return []int{i}
		}
	}
	return nil
}
