package decorator

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

var errBoom = errors.New("boom")

func TestDesired(t *testing.T) {
	cases := map[string]struct {
		reason string
		hooks  string // a strict sync hook if empty
		target string // the namespaced one if empty
		none   bool   // the definition declares no attachments
		answer string
		want   string
		err    string
	}{
		"Nothing": {
			reason: "An empty list alone changes nothing else.",
			answer: `{attachments: []}`, want: `{}`,
		},
		"NullList": {
			reason: "A null list is an empty one, as a nil slice in Go.",
			answer: `{attachments: null}`, want: `{}`,
		},
		"Waits": {
			reason: "Labels and the status are applied while the attachments stay.",
			answer: `{waiting: {reason: Late, message: not yet}, labels: {a: b}, status: {c: d}, events: [{reason: Seen, message: it}]}`,
			want:   `{waiting: "Late: not yet", labels: {a: b}, status: {c: d}, events: ["Normal Seen: it"]}`,
		},
		"WaitsWithList": {
			reason: "Both would contradict each other.", answer: `{waiting: {reason: Late, message: not yet}, attachments: []}`,
			err: "attachments: stands beside waiting, which leaves all of them as they are: leave one of the two out",
		},
		"Marked": {
			reason: "Attachments get the marker and the object's namespace.",
			answer: `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: a}}]}`,
			want:   `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: a, namespace: prod, annotations: {metacontroller.k8s.io/decorator-controller: svc}}}]}`,
		},
		"AnnotationsKept": {
			reason: "The marker joins the hook's own annotations, the null ones included.",
			answer: `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: a, namespace: prod, annotations: {x: z, gone: null}}}]}`,
			want:   `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: a, namespace: prod, annotations: {x: z, gone: null, metacontroller.k8s.io/decorator-controller: svc}}}]}`,
		},
		"ApprovingAttachment": {
			reason: "The host would approve an edit with its own rights.",
			answer: `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: a, annotations: {metacontroller.k8s.io/approved-revision: "0123456789abcdef"}}}]}`,
			err:    `attachments[0].metadata.annotations["metacontroller.k8s.io/approved-revision"]: approves an edit of scripts, which no hook may do: leave it out, and let a person write it`,
		},
		"ApprovingAnnotation": {
			reason: "So it would on its own object.",
			answer: `{attachments: [], annotations: {metacontroller.k8s.io/approved-revision: "0123456789abcdef"}}`,
			err:    `annotations["metacontroller.k8s.io/approved-revision"]: approves an edit of scripts, which no hook may do: leave it out, and let a person write it`,
		},
		"ApprovalRemoved": {
			reason: "To take it away approves nothing.",
			answer: `{attachments: [], annotations: {metacontroller.k8s.io/approved-revision: null}}`,
			want:   `{annotations: {metacontroller.k8s.io/approved-revision: null}}`,
		},
		"ForeignMarker": {
			reason: "A marker that the hook copied from elsewhere is put right.",
			answer: `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: a, annotations: {metacontroller.k8s.io/decorator-controller: other}}}]}`,
			want:   `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: a, namespace: prod, annotations: {metacontroller.k8s.io/decorator-controller: svc}}}]}`,
		},
		"Order": {
			reason: "Attachments stay in the order of the hook.",
			answer: `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: b}}, {apiVersion: v1, kind: Service, metadata: {name: a}}]}`,
			want: `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: b, namespace: prod, annotations: {metacontroller.k8s.io/decorator-controller: svc}}},
			                      {apiVersion: v1, kind: Service, metadata: {name: a, namespace: prod, annotations: {metacontroller.k8s.io/decorator-controller: svc}}}]}`,
		},
		"ClusterTarget": {
			reason: "An object in no namespace may have attachments anywhere.", target: clusterTarget,
			answer: `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: a, namespace: test}}, {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}]}`,
			want: `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: a, namespace: test, annotations: {metacontroller.k8s.io/decorator-controller: svc}}},
			                      {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, annotations: {metacontroller.k8s.io/decorator-controller: svc}}}]}`,
		},
		"ClusterTargetNoNamespace": {
			reason: "Then a namespaced attachment must say where.", target: clusterTarget,
			answer: `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: a}}]}`,
			err:    `attachments[0]: metadata.namespace: is required, as the parent is in none`,
		},
		"ClusterAttachment": {
			reason: "An object in a namespace can't own what is in none.",
			answer: `{attachments: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}]}`,
			err:    `attachments[0]: ClusterRole is cluster-scoped: a parent in a namespace can't own it, as garbage collection works within a namespace`,
		},
		"Undeclared": {
			reason: "A kind that is not declared is refused by name.",
			answer: `{attachments: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]}`,
			err:    `attachments[0]: v1 Secret is not among spec.attachments, which have v1 Service, rbac.authorization.k8s.io/v1 ClusterRole`,
		},
		"NoneDeclared": {
			reason: "A definition without attachments can't have any.", none: true,
			answer: `{attachments: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]}`,
			err:    `attachments[0]: v1 Secret is not among spec.attachments, which have none`,
		},
		"Twice": {
			reason: "One identity twice is refused.",
			answer: `{attachments: [{apiVersion: v1, kind: Service, metadata: {name: a}}, {apiVersion: v1, kind: Service, metadata: {name: a, namespace: prod}}]}`,
			err:    `attachments[1]: Service prod/a stands at attachments[0] already: each may be listed once`,
		},
		"NullElement": {
			reason: "A null attachment is refused.",
			answer: `{attachments: [null]}`, err: `attachments[0]: must be an object, but is null`,
		},
		"NoName": {
			reason: "An attachment without a name is refused.",
			answer: `{attachments: [{apiVersion: v1, kind: Service, metadata: {}}]}`, err: `attachments[0].metadata.name: is required`,
		},
		"ListAbsent": {
			reason: "An absent list deletes nothing.",
			answer: `{labels: {a: b}}`, err: `attachments: is required, if only as an empty list: nothing was deleted for want of it`,
		},
		"ListAbsentLooseByVersion": {
			reason: "Version 1 is loose by default, but not so loose.", hooks: `{sync: {version: v1, webhook: {}}}`,
			answer: `{}`, err: `attachments: is required, if only as an empty list: nothing was deleted for want of it`,
		},
		"ListAbsentLoose": {
			reason: "Who wrote loose out may omit the list.", hooks: `{sync: {webhook: {responseUnMarshallMode: loose}}}`,
			answer: `{}`, want: `{}`,
		},
		"ListAbsentNoneDeclared": {
			reason: "Who declares no attachments needs no list.", none: true,
			answer: `{labels: {a: b}}`, want: `{labels: {a: b}}`,
		},
		"NullBody": {
			reason: "A null body is no answer.",
			answer: `null`, err: `the hook answered null where an object with labels, annotations, status, attachments, resyncAfterSeconds, finalized is needed`,
		},
		"NullBodyNoneDeclared": {
			reason: "It is one that wants nothing where there is no list to give.", none: true,
			answer: `null`, want: `{}`,
		},
		"TextBody": {
			reason: "Text is no answer, however loose.", none: true,
			answer: `"ok"`, err: `the hook answered a string where an object with labels, annotations, status, attachments, resyncAfterSeconds, finalized is needed`,
		},
		"UnknownStrict": {
			reason: "A strict hook can't have other fields, children for instance.",
			answer: `{attachments: [], children: []}`,
			err:    `children: is no field of this hook's response, which has labels, annotations, status, attachments, waiting, events, resyncAfterSeconds, finalized`,
		},
		"UnknownLoose": {
			reason: "A loose one can.", hooks: `{sync: {version: v1}}`,
			answer: `{attachments: [], children: []}`, want: `{}`,
		},
		"LabelsSetAndRemoved": {
			reason: "Text sets a label, null removes one.",
			answer: `{attachments: [], labels: {tier: db, old: null, empty: ""}}`, want: `{labels: {tier: db, old: null, empty: ""}}`,
		},
		"AnnotationsSetAndRemoved": {
			reason: "So it is with annotations.",
			answer: `{attachments: [], annotations: {note: "1", old: null}}`, want: `{annotations: {note: "1", old: null}}`,
		},
		"EntriesNull": {
			reason: "Null and empty sets change nothing.",
			answer: `{attachments: [], annotations: null, labels: {}}`, want: `{}`,
		},
		"LabelNumber": {
			reason: "The error of a number has its place and the remedy.",
			answer: `{attachments: [], labels: {a: x, b: 1}}`, err: `labels["b"]: must be a string, or null to remove it: put numbers and booleans in quotes`,
		},
		"LabelBoolean": {
			reason: "A boolean too.",
			answer: `{attachments: [], labels: {a: true}}`, err: `labels["a"]: must be a string, or null to remove it: put numbers and booleans in quotes`,
		},
		"AnnotationObject": {
			reason: "An object is no annotation.",
			answer: `{attachments: [], annotations: {a: {b: c}}}`, err: `annotations["a"]: must be a string, or null to remove it: put numbers and booleans in quotes`,
		},
		"LabelsList": {
			reason: "A list is no set of labels.",
			answer: `{attachments: [], labels: [a]}`, err: `labels: must be an object, but is a list`,
		},
		"StatusReplaced": {
			reason: "A status is taken as it is, without any generation.",
			answer: `{attachments: [], status: {ready: 1}}`, want: `{status: {ready: 1}}`,
		},
		"StatusEmptied": {
			reason: "An empty status replaces what there is.",
			answer: `{attachments: [], status: {}}`, want: `{status: {}}`,
		},
		"StatusNull": {
			reason: "Null leaves the status alone.",
			answer: `{attachments: [], status: null}`, want: `{}`,
		},
		"StatusText": {
			reason: "A status is an object.",
			answer: `{attachments: [], status: ok}`, err: `status: must be an object, but is a string`,
		},
		"Resync": {
			reason: "Seconds may be fractions.",
			answer: `{attachments: [], resyncAfterSeconds: 2.5}`, want: `{resync: 2.5}`,
		},
		"ResyncText": {
			reason: "Seconds are a number.",
			answer: `{attachments: [], resyncAfterSeconds: "2"}`, err: `resyncAfterSeconds: must be a number of seconds, but is a string`,
		},
		"FinalizedBySync": {
			reason: "Any hook may say that it is done.",
			answer: `{attachments: [], finalized: true}`, want: `{finalized: true}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			resources := []discovery.Resource{services, roles}
			if tc.none {
				resources = nil
			}
			v := newVariant(t, either(tc.hooks, `{sync: {version: v2}}`), resources...)
			var body, before any
			decode(t, tc.answer, &body)
			decode(t, tc.answer, &before)
			observed := variant.Observed{Parent: object(t, either(tc.target, namespacedTarget))}
			desired, err := v.Desired(observed, []variant.Answer{{Call: variant.Call{Hook: "sync"}, Body: body}})
			if diff := cmp.Diff(before, body); diff != "" {
				t.Errorf("the hook's answer was changed:\n%s", diff)
			}
			if tc.err != "" {
				if want := "HookResponseInvalid: sync hook: " + tc.err; err == nil || err.Error() != want {
					t.Fatalf("%s\nwant error %q\ngot        %v", tc.reason, want, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(parse(t, tc.want), summarized(desired)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDesiredWithoutResponse(t *testing.T) {
	child := object(t, `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: prod}}`)
	observed := variant.Observed{Parent: object(t, namespacedTarget), Children: []*unstructured.Unstructured{child}}
	finalizing := observed
	finalizing.Finalizing = true
	cases := map[string]struct {
		reason, hooks string
		observed      variant.Observed
		answers       []variant.Answer
		want          variant.Desired
		err           error
	}{
		"NotAsked": {"With a finalize hook alone a living object keeps what it has.", `{finalize: {}}`, observed, nil, variant.Desired{Keep: map[apply.Key]bool{apply.KeyOf(child): true}}, nil},
		"Failed":   {"A failed hook fails the reconcile.", `{sync: {}}`, observed, []variant.Answer{{Err: errBoom}}, variant.Desired{}, errBoom},
		"Finalized": {
			"The finalize hook's answer is read by its own rules.", `{sync: {version: v2}, finalize: {webhook: {responseUnMarshallMode: loose}}}`,
			finalizing, []variant.Answer{{Body: map[string]any{"finalized": true, "other": int64(1)}}}, variant.Desired{Children: []*unstructured.Unstructured{}, Finalized: true}, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			desired, err := newVariant(t, tc.hooks, services).Desired(tc.observed, tc.answers)
			if !errors.Is(err, tc.err) {
				t.Fatalf("%s\nwant error %v, got %v", tc.reason, tc.err, err)
			}
			if diff := cmp.Diff(tc.want, desired); err == nil && diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func either(given, otherwise string) string {
	if given == "" {
		return otherwise
	}
	return given
}

// summarized returns the fields of a desired state that are set.
func summarized(desired variant.Desired) map[string]any {
	fields := map[string]any{}
	for _, attachment := range desired.Children {
		list, _ := fields["attachments"].([]any)
		fields["attachments"] = append(list, attachment.Object)
	}
	for field, entries := range map[string]map[string]*string{"labels": desired.Labels, "annotations": desired.Annotations} {
		if entries != nil {
			fields[field] = plain(entries)
		}
	}
	if desired.Status != nil {
		fields["status"] = desired.Status
	}
	if desired.ResyncAfterSeconds != 0 {
		fields["resync"] = desired.ResyncAfterSeconds
	}
	if desired.Finalized {
		fields["finalized"] = true
	}
	if desired.Waiting != nil {
		fields["waiting"] = desired.Waiting.String()
	}
	for _, event := range desired.Events {
		list, _ := fields["events"].([]any)
		fields["events"] = append(list, event.Type+" "+event.Reason+": "+event.Message)
	}
	return fields
}

func plain(entries map[string]*string) map[string]any {
	values := map[string]any{}
	for key, value := range entries {
		values[key] = nil
		if value != nil {
			values[key] = *value
		}
	}
	return values
}
