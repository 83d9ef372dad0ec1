package composite

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestConditionTime(t *testing.T) {
	since, now := start, start.Add(time.Hour)
	cases := map[string]struct {
		reason string
		before map[string]any
		want   any
	}{
		"New":         {"The first one has the time of the last progress, which is the same in each reconcile.", nil, "2026-03-01T12:00:00Z"},
		"SameStatus":  {"The time stays while the status does.", map[string]any{"status": "False", "lastTransitionTime": "then"}, "then"},
		"OtherStatus": {"It changes with the status.", map[string]any{"status": "True", "lastTransitionTime": "then"}, "2026-03-01T13:00:00Z"},
		"WithoutTime": {"metacontroller gives none, and nothing is written to add one.", map[string]any{"status": "False"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			entry := condition{"False", reasonWaiting, "m"}.entry(tc.before, since, now)
			if diff := cmp.Diff(tc.want, entry["lastTransitionTime"]); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestConditionPlace(t *testing.T) {
	const entry = `{type: Updated, status: "False", reason: RolloutWaiting, message: m, lastTransitionTime: "2026-03-01T12:00:00Z"}`
	cases := map[string]struct{ reason, status, want string }{
		"Absent": {"Conditions are made where there are none.", `{a: 1}`, `{a: 1, conditions: [` + entry + `]}`},
		"After":  {"Those of the hook stay where they are.", `{conditions: [{type: Ready}]}`, `{conditions: [{type: Ready}, ` + entry + `]}`},
		"Taken":  {"The host's own is replaced in its place.", `{conditions: [{type: Updated, reason: OnLatestRevision}, {type: Ready}]}`, `{conditions: [` + entry + `, {type: Ready}]}`},
		"Own":    {"The hook's own stays.", `{conditions: [{type: Updated, reason: Mine}]}`, `{conditions: [{type: Updated, reason: Mine}]}`},
		"Bare":   {"Also without a reason.", `{conditions: [{type: Updated, status: x}]}`, `{conditions: [{type: Updated, status: x}]}`},
		"Object": {"What is no list is the hook's.", `{conditions: {x: 1}}`, `{conditions: {x: 1}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status := parse(t, tc.status)
			given := status["conditions"]
			setUpdatedCondition(status, condition{"False", reasonWaiting, "m"}, nil, start, start)
			if diff := cmp.Diff(parse(t, tc.want), status); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(parse(t, tc.status)["conditions"], given); diff != "" {
				t.Errorf("the hook's conditions were changed:\n%s", diff)
			}
		})
	}
}
