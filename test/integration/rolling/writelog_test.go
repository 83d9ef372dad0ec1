package rolling

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// writeLog has the writes on a parent's children since a moment.
type writeLog struct {
	*parent
	since cluster.Mark
}

func (c *parent) recordWrites() *writeLog {
	c.T.Helper()
	return &writeLog{c, c.Mark()}
}

// writes returns all successful writes of children, in the order in which the API server received them: a reaction
// to a write comes after it.
func (j *writeLog) writes() cluster.Requests {
	j.T.Helper()
	all, err := j.Cluster.Requests(j.T.Context(), j.since, "")
	j.NoError(err)
	writes := all.Writes().Of(j.Group, j.childScope.resource.Resource).Filter(func(r cluster.Request) bool {
		return r.Code < 300 && strings.HasPrefix(r.Name, j.parent.name+"-")
	})
	slices.SortStableFunc(writes, func(a, b cluster.Request) int { return a.Time.Compare(b.Time) })
	return writes
}

func isLibretto(r cluster.Request) bool { return strings.Contains(r.UserAgent, env.UserAgent) }

// expectUpdates checks how many times libretto has updated each child: by one write, or by a deletion and a creation.
func (j *writeLog) expectUpdates(times ...int) {
	j.T.Helper()
	verbs := []string{"update", "patch"}
	if j.method == recreate {
		verbs = []string{"delete", "create"}
		if j.serverSide {
			verbs = []string{"delete", "patch"} // To apply creates.
		}
	}
	got := map[string]int{}
	for _, r := range j.writes().Verbs(verbs...).Filter(isLibretto) {
		got[r.Name]++
	}
	each := map[string]int{recreate: 2, inPlace: 1}[j.method]
	want := map[string]int{}
	for n, count := range times {
		if count > 0 {
			want[j.childName(n)] = count * each
		}
	}
	if !maps.Equal(got, want) {
		j.T.Errorf("writes of children are %v, want %v:\n%s", got, want, j.writes())
	}
}

// expectUnavailable checks that libretto has taken down no child while as many as allowed were down, or never reported as up.
// It returns the largest number that were down.
func (j *writeLog) expectUnavailable(allowed int) int {
	j.T.Helper()
	down := map[string]bool{}
	most := 0
	for _, r := range j.writes() {
		switch {
		case j.isUnwanted(r.Name):
			delete(down, r.Name)
		case strings.Contains(r.URI, "fieldManager="+readyManager):
			delete(down, r.Name)
		case strings.Contains(r.URI, "fieldManager="+unreadyManager), !isLibretto(r) && r.Verb == "delete":
			down[r.Name] = true
		case isLibretto(r) && !down[r.Name]:
			down[r.Name] = true
			if len(down) > allowed {
				j.T.Errorf("%s while %v are down, want %d at most:\n%s", r, slices.Sorted(maps.Keys(down)), allowed, j.writes())
			}
		}
		most = max(most, len(down))
	}
	return most
}

// isUnwanted reports whether the parent has no child of that name any more.
func (j *writeLog) isUnwanted(name string) bool {
	var n int
	if _, err := fmt.Sscan(strings.TrimPrefix(name, j.parent.name+"-"), &n); err != nil {
		j.T.Fatalf("%s is no child's name: %v", name, err)
	}
	return cmp.Compare(n, j.spec.count) >= 0
}
