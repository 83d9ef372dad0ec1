package mapping

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

func TestFinalizeResponse(t *testing.T) {
	cases := map[string]struct {
		reason, answer string
		want           outcome
		err            string
	}{
		"Done": {
			reason: "An empty list and finalized end it.", answer: `{outputs: [], finalized: true}`, want: outcome{Finalized: true},
		},
		"Waits": {
			reason: "Without finalized the parent stays, and the hook may ask for time.", answer: `{outputs: [], resyncAfterSeconds: 5}`, want: outcome{Resync: 5},
		},
		"WaitsForAll": {
			reason: "Waiting leaves all outputs alone.", answer: waits, want: outcome{Waiting: []string{"Late: not yet"}},
		},
		"WaitsFinalized": {
			reason: "It is not done then.", answer: `{waiting: {reason: Late, message: not yet}, finalized: true}`,
			err: "HookResponseInvalid: finalize hook: finalized: is true beside waiting: a hook that waits is not done: leave one of them out",
		},
		"Keeps": {
			reason: "An output stays with the input that it was made of, which need not be there.", answer: pod("x"),
			want: outcome{Children: []string{"Pod prod/x of /ConfigMap/prod/gone"}},
		},
		"Makes": {
			reason: "A new output has the parent's own key.", answer: pod("cleanup"),
			want: outcome{Children: []string{"Pod prod/cleanup of example.com/Bucket/prod/b"}},
		},
		"Failed": {
			reason: "An error fails the whole reconcile.", answer: `boom`, err: "HookFailed: finalize hook: boom",
		},
		"ListAbsent": {
			reason: "The list has to be there.", answer: `{finalized: true}`, err: "HookResponseInvalid: finalize hook: outputs: is required, if only as an empty list: nothing was deleted for want of it",
		},
		"Unknown": {
			reason: "A composite's field is none of a map's.", answer: `{outputs: [], children: []}`, err: "HookResponseInvalid: finalize hook: children: is no field of this hook's response, which has outputs, waiting, events, resyncAfterSeconds, status, finalized",
		},
		"BadStatus": {
			reason: "A status is an object.", answer: `{outputs: [], status: done}`, err: "HookResponseInvalid: finalize hook: status: must be an object, but is a string",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := newVariant(t, allHooks, pods)
			observed := observation{Parent: deletingParent, Finalizing: true, Outputs: []string{"Pod prod/x of /ConfigMap/prod/gone"}}.observed(t, v)
			desired, err := v.Desired(observed, answers(t, v, observed, []string{tc.answer}))
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("%s\nwant error %q\ngot        %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, outcomeOf(desired)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFinalizedStatus(t *testing.T) {
	cases := map[string]struct{ reason, answer, want string }{
		"Absent": {"Without a status the outputs are counted, and what was said of the inputs stays.", `{outputs: []}`, `{inputs: {configmaps: {total: 3}}, other: 1, outputs: {pods: {total: 1}}, observedGeneration: 4}`},
		"Null":   {"Null is no different.", `{outputs: [], status: null}`, `{inputs: {configmaps: {total: 3}}, other: 1, outputs: {pods: {total: 1}}, observedGeneration: 4}`},
		"Given":  {"A status is merged in, and the counters win.", `{outputs: [], status: {phase: Closing, outputs: {pods: {total: 99}}}}`, `{inputs: {configmaps: {total: 3}}, other: 1, phase: Closing, outputs: {pods: {total: 1}}, observedGeneration: 4}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := newVariant(t, allHooks, pods)
			observed := observation{Parent: deletingParent, Finalizing: true, Outputs: []string{"Pod prod/x of /ConfigMap/prod/gone"}}.observed(t, v)
			observed.Parent.Object["status"] = parse(t, `{inputs: {configmaps: {total: 3}}, outputs: {pods: {total: 2}}, other: 1}`)
			var body any
			decode(t, tc.answer, &body)
			desired, err := v.Desired(observed, []variant.Answer{{Body: body}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, tc.want), desired.Status); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
