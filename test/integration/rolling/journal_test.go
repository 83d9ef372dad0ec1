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

// journal is what happens to a crew's children from a moment on.
type journal struct {
	*crew
	since cluster.Mark
}

func (c *crew) journal() *journal {
	c.T.Helper()
	return &journal{c, c.Mark()}
}

// writes are the successful ones of anybody on the children, in the order in which the API server received them: who
// reacts to another's write comes after it.
func (j *journal) writes() cluster.Requests {
	j.T.Helper()
	all, err := j.Cluster.Requests(j.T.Context(), j.since, "")
	if err != nil {
		j.T.Fatal(err)
	}
	writes := all.Writes().Of(j.Group, j.parts.resource.Resource).Filter(func(r cluster.Request) bool {
		return r.Code < 300 && strings.HasPrefix(r.Name, j.crew.name+"-")
	})
	slices.SortStableFunc(writes, func(a, b cluster.Request) int { return a.Time.Compare(b.Time) })
	return writes
}

func hosts(r cluster.Request) bool { return strings.Contains(r.UserAgent, env.UserAgent) }

// mustUpdate checks how many times libretto has updated each child: by one write, or by a deletion and a creation.
func (j *journal) mustUpdate(times ...int) {
	j.T.Helper()
	verbs := []string{"update", "patch"}
	if j.method == recreate {
		verbs = []string{"delete", "create"}
		if j.served {
			verbs = []string{"delete", "patch"} // To apply creates.
		}
	}
	got := map[string]int{}
	for _, r := range j.writes().Verbs(verbs...).Filter(hosts) {
		got[r.Name]++
	}
	each := map[string]int{recreate: 2, inPlace: 1}[j.method]
	want := map[string]int{}
	for n, count := range times {
		if count > 0 {
			want[j.part(n)] = count * each
		}
	}
	if !maps.Equal(got, want) {
		j.T.Errorf("writes of children are %v, want %v:\n%s", got, want, j.writes())
	}
}

// mustBound checks that libretto has taken down no child while as many as allowed were down, or never told to be up.
// It gives how many were down at most.
func (j *journal) mustBound(allowed int) int {
	j.T.Helper()
	down := map[string]bool{}
	most := 0
	for _, r := range j.writes() {
		switch {
		case j.gone(r.Name):
			delete(down, r.Name)
		case strings.Contains(r.URI, "fieldManager="+healing):
			delete(down, r.Name)
		case strings.Contains(r.URI, "fieldManager="+breaking), !hosts(r) && r.Verb == "delete":
			down[r.Name] = true
		case hosts(r) && !down[r.Name]:
			down[r.Name] = true
			if len(down) > allowed {
				j.T.Errorf("%s while %v are down, want %d at most:\n%s", r, slices.Sorted(maps.Keys(down)), allowed, j.writes())
			}
		}
		most = max(most, len(down))
	}
	return most
}

// gone says whether the parent does not want a child any more.
func (j *journal) gone(name string) bool {
	var n int
	if _, err := fmt.Sscan(strings.TrimPrefix(name, j.crew.name+"-"), &n); err != nil {
		j.T.Fatalf("%s is no child's name: %v", name, err)
	}
	return cmp.Compare(n, j.spec.count) >= 0
}
