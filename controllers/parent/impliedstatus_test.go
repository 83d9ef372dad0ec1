package parent

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

func TestKeepsFields(t *testing.T) {
	conditions := func(types ...string) map[string]any {
		var list []any
		for _, name := range types {
			list = append(list, map[string]any{"type": name})
		}
		return map[string]any{"observedGeneration": int64(1), "conditions": list}
	}
	cases := map[string]struct {
		before, after map[string]any
		want          bool
	}{
		"None":           {nil, map[string]any{"observedGeneration": int64(1)}, true},
		"Generation":     {map[string]any{"observedGeneration": int64(1)}, map[string]any{"observedGeneration": int64(2)}, true},
		"Field":          {map[string]any{"observedGeneration": int64(1), "said": "a"}, map[string]any{"observedGeneration": int64(2)}, false},
		"Updated":        {conditions("Updated"), conditions("Updated"), true},
		"FirstCondition": {map[string]any{}, conditions("Updated"), true},
		"Condition":      {conditions("Updated", "Ready"), conditions("Updated"), false},
		"Odd":            {map[string]any{"conditions": []any{"text"}}, conditions("Updated"), false},
	}
	for name, tc := range cases {
		if got := keepsFields(tc.before, tc.after); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestImpliedStatus has hooks return a status and then none.
func TestImpliedStatus(t *testing.T) {
	implied := variant.Desired{Status: map[string]any{"observedGeneration": int64(1)}, StatusOrigin: variant.StatusImplied}
	returned := variant.Desired{Status: map[string]any{"observedGeneration": int64(1), "n": int64(1)}}
	e := newLeftStatusEnv(t)
	write := func(desired variant.Desired) {
		t.Helper()
		if err := e.next(readsSpec).writeParent(t.Context(), desired, false); err != nil {
			t.Fatal(err)
		}
	}
	before := len(statusOf(e.last.parent))
	if write(implied); before == 0 || len(e.server.sent) > 0 {
		t.Errorf("of a status of %d fields that nobody knows %v are left", before, e.server.sent)
	}
	write(returned)
	write(implied)
	e.wantSent(returned.Status, implied.Status)
	e.last.parent.Object["status"] = map[string]any{"theirs": true}
	write(implied)
	write(returned)
	e.last.parent.Object["status"] = map[string]any{"observedGeneration": int64(1), "n": int64(1), "theirs": true}
	write(implied)
	e.wantSent(returned.Status, implied.Status, returned.Status)
	// What was there already when it was returned is the hooks' as well.
	e.last.parent.Object["status"] = returned.Status
	write(returned)
	write(implied)
	e.wantSent(returned.Status, implied.Status, returned.Status, implied.Status)
}

// TestImpliedStatusAfterAConflict has another writer set a status just before.
func TestImpliedStatusAfterAConflict(t *testing.T) {
	for name, retry := range map[string]func(p *pass, desired variant.Desired) error{
		"Conflict": func(p *pass, desired variant.Desired) error {
			_, err := p.retryStatus(t.Context(), desired, nil)
			return err
		},
		"Left": func(p *pass, desired variant.Desired) error {
			p.leftStatuses.leave(p.key, leftStatus{uid: p.parent.GetUID(), status: desired.Status, origin: desired.StatusOrigin})
			return p.writeLeftStatus(t.Context(), nil)
		},
	} {
		e := newLeftStatusEnv(t)
		p := e.next(readsSpec)
		p.parent.Object["status"] = map[string]any{"theirs": true}
		client := e.server.client()
		client.PrependReactor("get", "things", func(clienttesting.Action) (bool, runtime.Object, error) { return true, p.parent.DeepCopy(), nil })
		p.env.Client = client
		desired := variant.Desired{Status: map[string]any{"observedGeneration": int64(1)}, StatusOrigin: variant.StatusImplied}
		if err := retry(p, desired); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(e.server.sent) > 0 {
			t.Errorf("%s: %v is written over the status of another", name, e.server.sent)
		}
	}
}
