package hosted

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// usedRights are the rights that the new text would use. It is a simulation.Observer.
type usedRights struct {
	mu   sync.Mutex
	used map[access.Right]bool
}

func (u *usedRights) add(rights ...access.Right) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.used == nil {
		u.used = map[access.Right]bool{}
	}
	for _, right := range rights {
		u.used[right] = true
	}
}

// Wrote notes a write.
func (u *usedRights) Wrote(plan *plan.Plan, write memcluster.Write) {
	u.add(simulation.RightsOf(plan, write)...)
}

// Selected notes what hooks would be shown.
func (u *usedRights) Selected(_ *plan.Plan, _ string, selection parent.Selection) {
	for _, verb := range access.ReadVerbs {
		u.add(access.Right{Verb: verb, GroupResource: selection.Resource.GroupResource(), Namespace: selection.Namespace})
	}
}

// missing returns what the definition's account lacks of the rights that the new text would use, or why that is unknown.
func (r *run) missing(ctx context.Context) (missing, unknown string) {
	account := r.Plan.Config.Account
	if r.access == nil || account.IsHost() {
		return "", ""
	}
	var used []access.Right
	for right := range r.rights.used {
		used = append(used, right)
	}
	slices.SortFunc(used, func(a, b access.Right) int { return strings.Compare(a.Sortable(), b.Sortable()) })
	lacks, err := r.access.Missing(identity.WithAccount(ctx, account), used)
	if err != nil {
		unknown = fmt.Sprintf("; whether %s may do all of it is unknown: %v", account, err)
	}
	if len(lacks) == 0 {
		return "", unknown
	}
	return fmt.Sprintf("it would need rights that %s lacks: %s", account, access.Describe(lacks)), unknown
}
