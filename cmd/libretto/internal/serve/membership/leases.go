package membership

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

const (
	// GroupLabel is on all leases of a group, with its name.
	GroupLabel = "libretto.dev/shard-group"
	// CountLabel is on the lease of a member, with the number of ranges that it was started for.
	CountLabel = "libretto.dev/shards"
	// rangesAnnotation has the ranges, on the lease that fixes them for all.
	rangesAnnotation = "libretto.dev/shard-ranges"
	// stateAnnotation is what a member does, on its lease. Without it the member takes no range yet.
	stateAnnotation = "libretto.dev/shard-state"
)

// The values of stateAnnotation.
const (
	stateReady    = "ready"    // It takes ranges.
	stateDraining = "draining" // It ends, and takes no more.
)

// Group is the processes that share the ranges of a name, and how many ranges there are.
type Group struct {
	Name  string
	Count int
}

// Member returns the name of the lease of a member, and its labels. Its holder is the member: what is after the last underscore of an
// identity is unique.
func (g Group) Member(identity string) (name string, labels map[string]string) {
	return g.memberName(identity), map[string]string{GroupLabel: g.Name, CountLabel: strconv.Itoa(g.Count)}
}

func (g Group) memberName(identity string) string {
	return g.Name + "-" + identity[strings.LastIndex(identity, "_")+1:]
}

func (g Group) partitionName() string { return g.Name + "-shards" }

func (g Group) rangeName(index int) string { return g.Name + "-shard-" + strconv.Itoa(index) }

// rangeIndex returns the index of the range that a lease is for.
func (g Group) rangeIndex(name string) (int, bool) {
	text, is := strings.CutPrefix(name, g.Name+"-shard-")
	index, err := strconv.Atoi(text)
	return index, is && err == nil
}

func (g Group) selector() string { return GroupLabel + "=" + g.Name }

// lease returns a lease of the group.
func (g Group) lease(name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{GroupLabel: g.Name}}}
}

// partition returns the lease that fixes ranges. Existing is nil if there is none.
func (g Group) partition(existing *coordinationv1.Lease, ranges []shard.Range) *coordinationv1.Lease {
	lease := existing.DeepCopy()
	if lease == nil {
		lease = g.lease(g.partitionName())
	}
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, rangesAnnotation, shard.Format(ranges))
	return lease
}

// held returns the lease of a range with another holder, which is empty for none. Existing is nil if there is none.
func (g Group) held(existing *coordinationv1.Lease, index int, by string, now time.Time) *coordinationv1.Lease {
	if by == "" {
		return released(existing)
	}
	lease := existing.DeepCopy()
	if lease == nil {
		lease = g.lease(g.rangeName(index))
	}
	lease.Spec.HolderIdentity, lease.Spec.AcquireTime = &by, &metav1.MicroTime{Time: now}
	lease.Spec.LeaseTransitions = new(ptr.Deref(lease.Spec.LeaseTransitions, 0) + 1)
	return lease
}

// released returns a lease without a holder.
func released(lease *coordinationv1.Lease) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	lease.Spec.HolderIdentity = nil
	return lease
}

// holderOf returns who holds a lease, or "".
func holderOf(lease *coordinationv1.Lease) string { return ptr.Deref(lease.Spec.HolderIdentity, "") }

// isMember reports whether a lease is that of a member.
func isMember(lease *coordinationv1.Lease) bool { return lease.Labels[CountLabel] != "" }

// observed is what a process knows of a lease: the object, or nil if there is none, and since when it is so, by the process' own clock.
type observed struct {
	lease   *coordinationv1.Lease
	version string
	since   time.Time
}

// observations are leases by name. Each change of a lease counts as a renewal.
type observations map[string]observed

// set notes a lease, unless a newer one is known.
func (o observations) set(lease *coordinationv1.Lease, now time.Time) {
	if known, ok := o[lease.Name]; !ok || isNewer(lease.ResourceVersion, known.version) {
		o[lease.Name] = observed{lease, lease.ResourceVersion, now}
	}
}

// delete notes that a lease is gone, unless a newer one is known.
func (o observations) delete(lease *coordinationv1.Lease, now time.Time) {
	if known := o[lease.Name]; known.lease != nil && !isNewer(known.version, lease.ResourceVersion) {
		o[lease.Name] = observed{nil, lease.ResourceVersion, now}
	}
}

func isNewer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err != nil || order > 0
}

// find returns what is known of a lease. What was never seen is absent from now on.
func (o observations) find(name string, now time.Time) observed {
	known, ok := o[name]
	if !ok {
		known = observed{since: now}
		o[name] = known
	}
	return known
}

// expiry returns when a lease that is held is over.
func (o observed) expiry() time.Time {
	return o.since.Add(time.Duration(ptr.Deref(o.lease.Spec.LeaseDurationSeconds, 0)) * time.Second)
}

// Unsharded is the lease of a host that shares its work with no other one, beside which no member of the group of that name may work. Each
// side takes its own lease before it looks at the other's, so that one of them sees the other.
type Unsharded struct {
	Leases coordinationclient.LeaseInterface
	Name   string
	Now    func() time.Time
	seen   observations
}

// FindMember returns a member of the group that may work, or "" if none does. One that has not renewed its lease in time loses it.
func (u *Unsharded) FindMember(ctx context.Context) (string, error) {
	list, err := u.Leases.List(ctx, metav1.ListOptions{LabelSelector: Group{Name: u.Name}.selector()})
	if err != nil {
		return "", fmt.Errorf("leases of replicas with --shards can't be listed: %w", err)
	}
	for i := range list.Items {
		if lease := &list.Items[i]; isMember(lease) {
			if holder, err := u.alive(ctx, lease); holder != "" || err != nil {
				return holder, err
			}
		}
	}
	return "", nil
}

// FindHolder returns who holds the lease and may work, or "". One that has not renewed it in time loses it.
func (u *Unsharded) FindHolder(ctx context.Context) (string, error) {
	lease, err := u.Leases.Get(ctx, u.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return u.alive(ctx, lease)
}

// alive returns who holds a lease. If it is over it is taken from its holder, which can't renew it then.
func (u *Unsharded) alive(ctx context.Context, lease *coordinationv1.Lease) (string, error) {
	if u.seen == nil {
		u.seen = observations{}
	}
	u.seen.set(lease, u.Now())
	known := u.seen[lease.Name]
	if holderOf(lease) == "" || u.Now().Before(known.expiry()) {
		return holderOf(lease), nil
	}
	_, err := u.Leases.Update(ctx, released(lease), metav1.UpdateOptions{})
	return "", err
}
