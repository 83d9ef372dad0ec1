package hosted

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// edited returns hooks whose children are edited.
func edited(suffixes []string, edit func(child map[string]any)) texts {
	next := making("1", suffixes)
	answer := next["sync"].(hook).answer
	return next.with("sync", func(call engines.Call) (any, error) {
		body, err := answer(call)
		for _, child := range body.(map[string]any)["children"].([]any) {
			edit(child.(map[string]any))
		}
		return body, err
	})
}

// TestRefused previews edits whose children an API server refuses. Nothing is known of it in a host but the rules of memcluster and schema.
func TestRefused(t *testing.T) {
	metadata := func(name string, value any) func(map[string]any) {
		return func(child map[string]any) { child["metadata"].(map[string]any)[name] = value }
	}
	number := func(child map[string]any) { child["data"] = map[string]any{"v": int64(2)} }
	key := func(child map[string]any) { child["data"] = map[string]any{"not a key": "2"} }
	named := func(child map[string]any) {
		meta := child["metadata"].(map[string]any)
		meta["name"] = strings.ReplaceAll(meta["name"].(string), "-", "_")
	}
	fine := scripts.Preview{Summary: "previewed on 4 of 4 parents"}
	for name, c := range map[string]struct {
		reason        string
		method        string
		serving, next texts
		// held is the beginning of what is reported, and names what else must be in it. Without any the edit is let through.
		held  string
		names []string
	}{
		"a wrong name": {
			reason: "The new ones can't be created, and the old ones are deleted all the same.", next: edited(three, named),
			held: "it would delete 12 of 12 children of 4 of 4 parents", names: []string{"4 of 4 parents that succeed now would fail", "b000_0", "metadata.name"},
		},
		"a wrong name of one more": {
			reason: "Nothing is deleted.", next: making("1", []string{"-0", "-1", "-2", "_3"}),
			held: "4 of 4 parents that succeed now would fail, first Box default/b000: ", names: []string{"ConfigMap", "b000_3", "metadata.name"},
		},
		"a wrong label": {
			reason: "Metadata is validated in updates too.", next: edited(three, metadata("labels", map[string]any{"a": "not a value"})),
			held: "4 of 4 parents that succeed now would fail", names: []string{"b000-0", "metadata.labels"},
		},
		"a number for a text": {
			reason: "The types of built-in kinds are known.", next: edited(three, number),
			held: "4 of 4 parents that succeed now would fail", names: []string{"b000-0", "ConfigMap.data"},
		},
		"a number for a text, recreated": {
			reason: "What is deleted must be able to come back: the pass ends with the deletion.", method: "Recreate",
			serving: making("1", []string{"-0"}), next: edited([]string{"-0"}, number),
			held:  "it would recreate 4 of 4 children",
			names: []string{"ConfigMap default/b000-0 would be deleted, and could not be created again: ", "ConfigMap.data"},
		},
		"a wrong key, recreated": {
			reason: "The same for what is valid by type.", method: "Recreate",
			serving: making("1", []string{"-0"}), next: edited([]string{"-0"}, key),
			held: "it would recreate 4 of 4 children", names: []string{"could not be created again: ", "data[not a key]"},
		},
		"refused already": {
			reason:  "The scripts that serve fail likewise: the edit makes nothing worse.",
			serving: making("1", []string{"-0", "_3"}), next: making("2", []string{"-0", "_3"}),
		},
		"an update": {reason: "A good edit is let through.", next: making("2", three)},
	} {
		t.Run(name, func(t *testing.T) {
			method, serving := c.method, c.serving
			if method == "" {
				method = "InPlace"
			}
			if serving == nil {
				serving = making("1", three)
			}
			got := settled(t, method, script, "", serving, 4, nil).preview(t, c.next, 100)
			if c.held == "" {
				if diff := cmp.Diff(fine, got); diff != "" {
					t.Errorf("%s -want +got:\n%s", c.reason, diff)
				}
				return
			}
			if !strings.HasPrefix(got.Held, c.held) {
				t.Errorf("%s: held for %q, want %q", c.reason, got.Held, c.held)
			}
			for _, text := range c.names {
				if !strings.Contains(got.Held, text) {
					t.Errorf("%s: held for %q, which does not tell %q", c.reason, got.Held, text)
				}
			}
		})
	}
}
