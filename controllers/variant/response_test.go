package variant

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
)

func TestUnwrapFor(t *testing.T) {
	webhook := &v1alpha1.Webhook{}
	const body = "return what is in its body, and nothing around it"
	cases := map[string]struct {
		reason string
		hook   v1alpha1.Hook
		want   string
	}{
		"JavaScript": {
			"The language has a setting for it.", v1alpha1.Hook{Script: &v1alpha1.Script{Path: "a.ts"}},
			"set script.signature of this hook to HTTPContext, or " + body,
		},
		"Inline": {
			"The engine may also be named.", v1alpha1.Hook{Script: &v1alpha1.Script{Inline: "1", Engine: "JavaScript"}},
			"set script.signature of this hook to HTTPContext, or " + body,
		},
		"Set": {
			"The setting unwraps only once.", v1alpha1.Hook{Script: &v1alpha1.Script{Path: "a.js", Signature: "HTTPContext"}}, body,
		},
		"Jsonnet": {"Other languages have no setting.", v1alpha1.Hook{Script: &v1alpha1.Script{Path: "a.jsonnet"}}, body},
		"Webhook": {
			"A server has to change its answer.", v1alpha1.Hook{Webhook: webhook},
			"let the server send what is in its body, and the status as that of HTTP",
		},
		"Shadow": {
			"The serving backend counts.", v1alpha1.Hook{Webhook: webhook, Script: &v1alpha1.Script{Path: "a.js"}, Shadow: "Script"},
			"let the server send what is in its body, and the status as that of HTTP",
		},
	}
	for name, tc := range cases {
		if got := UnwrapFor(&tc.hook); got != tc.want {
			t.Errorf("%s: %s\nwant %q\ngot  %q", name, tc.reason, tc.want, got)
		}
	}
}

func TestResponse(t *testing.T) {
	cases := map[string]struct {
		reason string
		rules  ResponseRules
		body   string
		want   string // the error, or ""
	}{
		"Whole": {
			"A complete answer is valid.", ResponseRules{},
			`{"status":{"a":1},"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}],"resyncAfterSeconds":1.5}`, "",
		},
		"EmptyList": {"An empty list means none.", ResponseRules{}, `{"children":[]}`, ""},
		"NullList": {
			"A null list means none: it is what a nil slice in a Go hook becomes.", ResponseRules{}, `{"children":null}`, "",
		},
		"Null": {
			"A null answer never means none.", ResponseRules{}, `null`,
			"the hook answered null where an object with status, children, resyncAfterSeconds is needed",
		},
		"NullLoose": {"An explicit loose mode allows it.", ResponseRules{AllowAbsentList: true}, `null`, ""},
		"List": {
			"A list is no answer.", ResponseRules{}, `[]`,
			"the hook answered a list where an object with status, children, resyncAfterSeconds is needed",
		},
		"Empty": {
			"An absent list never means none.", ResponseRules{}, `{}`,
			"children: is required, if only as an empty list: nothing was deleted for want of it",
		},
		"EmptyLoose": {"An explicit loose mode allows it.", ResponseRules{AllowAbsentList: true}, `{}`, ""},
		"Transposed": {
			"Any unknown field is named.", ResponseRules{}, `{"childern":[],"status":{}}`,
			`children: is required, if only as an empty list (there is "childern"): nothing was deleted for want of it`,
		},
		"Misspelt": {
			"A misspelt list is named.", ResponseRules{}, `{"Children":[]}`,
			`children: is required, if only as an empty list (there is "Children"): nothing was deleted for want of it`,
		},
		"Unknown": {"Unknown fields are ignored.", ResponseRules{}, `{"children":[],"more":1}`, ""},
		"UnknownStrict": {
			"Strict mode rejects them.", ResponseRules{RefuseUnknown: true}, `{"children":[],"more":1}`,
			"more: is no field of this hook's response, which has status, children, resyncAfterSeconds",
		},
		"NullElement": {
			"A null element is invalid.", ResponseRules{}, `{"children":[null]}`, "children[0]: must be an object, but is null",
		},
		"NoName": {
			"A child needs a name.", ResponseRules{}, `{"children":[{"apiVersion":"v1","kind":"Pod"}]}`,
			"children[0].metadata.name: is required",
		},
		"EmptyName": {
			"A name is not empty.", ResponseRules{}, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":""}}]}`,
			"children[0].metadata.name: is required",
		},
		"NumberName": {
			"A name is a string.", ResponseRules{}, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":7}}]}`,
			"children[0].metadata.name: must be a string, but is a number",
		},
		"NoKind": {
			"A child needs a kind.", ResponseRules{}, `{"children":[{"apiVersion":"v1","metadata":{"name":"x"}}]}`,
			"children[0].kind: is required",
		},
		"MetadataString": {
			"Metadata is an object.", ResponseRules{}, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":"x"}]}`,
			"children[0].metadata.name: is required",
		},
		"NumberLabel": {
			"Labels are strings, or all of them would be lost.", ResponseRules{},
			`{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","labels":{"a":1}}}]}`,
			`children[0].metadata.labels["a"]: must be a string, but is a number`,
		},
		"Second": {
			"The error has the path of the invalid child.", ResponseRules{},
			`{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}},5]}`,
			"children[1]: must be an object, but is a number",
		},
		"StatusList": {
			"The status is an object.", ResponseRules{}, `{"children":[],"status":[]}`, "status: must be an object, but is a list",
		},
		"Wrapped": {
			"A response inside an HTTP response is invalid.", ResponseRules{Unwrap: "do so"}, `{"status":200,"body":{"children":[]}}`,
			"the hook answered {body, status}, which holds the response in its body: do so",
		},
		"WrappedGateway": {
			"The status may have another name, in any mode.", ResponseRules{Unwrap: "do so", AllowAbsentList: true},
			`{"statusCode":200,"headers":{},"body":"{}"}`,
			"the hook answered {body, headers, statusCode}, which holds the response in its body: do so",
		},
		"NotWrapped": {"A body alone may be anything.", ResponseRules{Unwrap: "do so"}, `{"children":[],"body":1,"status":{}}`, ""},
		"ResyncString": {
			"A time is a number.", ResponseRules{}, `{"children":[],"resyncAfterSeconds":"5s"}`,
			"resyncAfterSeconds: must be a number of seconds, but is a string",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.rules.Fields = []string{"status", "children", "resyncAfterSeconds"}
			var body any
			if err := json.Unmarshal([]byte(tc.body), &body); err != nil {
				t.Fatal(err)
			}
			r := ReadResponse(Answer{Call: Call{Hook: "sync"}, Body: body}, tc.rules)
			r.Map("status")
			r.Objects("children")
			r.Seconds("resyncAfterSeconds")
			got := ""
			if err := r.Err(); err != nil {
				got = strings.TrimPrefix(err.Error(), "HookResponseInvalid: sync hook: ")
				if kind := engines.KindOf(err); kind != engines.BadResponse {
					t.Errorf("kind %v, want BadResponse", kind)
				}
			}
			if got != tc.want {
				t.Errorf("%s\nwant %q\ngot  %q", tc.reason, tc.want, got)
			}
		})
	}
}

// TestWaitingAndEvents checks how the two are read, and what is wrong with them.
func TestWaitingAndEvents(t *testing.T) {
	const waits = `"waiting":{"reason":"Late","message":"not yet"}`
	v2 := []string{"children", "waiting", "events", "finalized"}
	cases := map[string]struct {
		reason string
		body   string
		v1     bool
		loose  bool
		want   string // the wait, the events and the error
	}{
		"Waits":    {"An answer waits in place of its list.", `{` + waits + `}`, false, false, "Late: not yet"},
		"NullList": {"A list that is null is not there.", `{` + waits + `,"children":null}`, false, false, "Late: not yet"},
		"Null":     {"Null is no waiting.", `{"waiting":null,"children":[]}`, false, false, ""},
		"NullAlone": {"Null does not stand in place of the list.", `{"waiting":null}`, false, false,
			"children: is required, if only as an empty list: nothing was deleted for want of it"},
		"List": {"Both would contradict each other, even with an empty list.", `{` + waits + `,"children":[]}`, false, false,
			"children: stands beside waiting, which leaves all of them as they are: leave one of the two out"},
		"Finalized": {"A hook that waits is not done.", `{` + waits + `,"finalized":true}`, false, false,
			"finalized: is true beside waiting: a hook that waits is not done: leave one of them out"},
		"NotFinalized": {"False says nothing.", `{` + waits + `,"finalized":false}`, false, false, "Late: not yet"},
		"NoObject":     {"A text is not enough.", `{"waiting":"Late"}`, false, false, "waiting: must be an object, but is a string"},
		"NoReason": {"Programs need a reason.", `{"waiting":{"message":"not yet"}}`, false, false,
			"waiting.reason: is required: one word in CamelCase, such as SecretMissing"},
		"NoMessage": {"People need a message.", `{"waiting":{"reason":"Late"}}`, false, false,
			"waiting.message: is required: a sentence that says what is waited for or has happened"},
		"Sentence": {"A reason is no sentence.", `{"waiting":{"reason":"not yet","message":"not yet"}}`, false, false,
			`waiting.reason: "not yet" must be one word in CamelCase, such as SecretMissing`},
		"LongReason": {"A reason is short.", `{"waiting":{"reason":"` + strings.Repeat("A", 129) + `","message":"not yet"}}`, false, false,
			`waiting.reason: has 129 characters, and may have 128`},
		"Unknown": {"Unknown fields are rejected in strict mode.", `{"waiting":{"reason":"Late","message":"not yet","for":"b"}}`, false, false,
			"waiting.for: is no field of waiting, which has reason, message"},
		"V1": {"A webhook of version v1 has no waiting, and nothing is deleted.", `{` + waits + `}`, true, false,
			"children: is required, as a webhook of version v1 has no waiting: set version: v2: nothing was deleted for want of it"},
		"V1Loose": {"Not even if it may leave its list out.", `{` + waits + `}`, true, true,
			"children: is required, as a webhook of version v1 has no waiting: set version: v2: nothing was deleted for want of it"},
		"V1NullList": {"Nor if the list is null, as an empty field in Go becomes.", `{` + waits + `,"children":null}`, true, true,
			"children: is required, as a webhook of version v1 has no waiting: set version: v2: nothing was deleted for want of it"},
		"V1Ignored": {"With a list both are ignored, like any unknown field.", `{` + waits + `,"children":[],"events":5}`, true, false, ""},
		"Loose":     {"Who may leave the list out may wait.", `{` + waits + `}`, false, true, "Late: not yet"},
		"Events": {"Events are Normal by default.", `{"children":[],"events":[{"reason":"A","message":"a"},{"type":"Warning","reason":"B","message":"b"}]}`,
			false, false, "Normal A a, Warning B b"},
		"EventsBeside": {"An answer that waits may have events.", `{` + waits + `,"events":[{"type":null,"reason":"A","message":"a"}]}`, false, false, "Late: not yet, Normal A a"},
		"NoEvents":     {"A list that is null or empty has none.", `{"children":[],"events":null}`, false, false, ""},
		"EventType": {"There are two types.", `{"children":[],"events":[{"type":"Error","reason":"A","message":"a"}]}`, false, false,
			`events[0].type: "Error" must be Normal or Warning`},
		"EventReason": {"The place of a wrong event is reported.", `{"children":[],"events":[{"reason":"A","message":"a"},{"reason":7,"message":"a"}]}`, false, false,
			"events[1].reason: must be a string, but is a number"},
		"EventText": {"An event is an object.", `{"children":[],"events":["done"]}`, false, false,
			"events[0]: must be an object with reason and message, but is a string"},
		"EventObject": {"Events are a list.", `{"children":[],"events":{}}`, false, false, "events: must be a list of objects, but is an object"},
		"EventOfHost": {"An event can't pass for one of the host's.", `{"children":[],"events":[{"reason":"Held","message":"a"}]}`, false, false,
			"events[0].reason: Held is what the host's own events say: choose another word, such as AppHeld"},
		"EventLines": {"A message is one line, so that it can't show others.", `{"children":[],"events":[{"reason":"A","message":"a\nb\u2028c"}]}`, false, false,
			"Normal A a b<U+2028>c"},
		"Control": {"Control characters would reach terminals.", `{"children":[],"events":[{"reason":"A","message":"a\u001b[2J"}]}`, false, false, "Normal A a\ufffd[2J"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var body any
			if err := json.Unmarshal([]byte(tc.body), &body); err != nil {
				t.Fatal(err)
			}
			hook := &v1alpha1.Hook{Version: v1alpha1.HookV2, Webhook: &v1alpha1.Webhook{}}
			if tc.v1 {
				hook.Version = v1alpha1.HookV1
			}
			if tc.loose {
				loose := v1alpha1.ResponseLoose
				hook.Webhook.ResponseUnMarshallMode = &loose
			}
			r := ReadResponse(Answer{Call: Call{Hook: "sync"}, Body: body}, RulesFor(hook, true, v2...))
			r.Objects("children")
			var got []string
			if wait := r.Waiting(); wait != nil {
				got = append(got, wait.String())
			}
			events, _ := r.Events()
			for _, event := range events {
				got = append(got, event.Type+" "+event.Reason+" "+event.Message)
			}
			if err := r.Err(); err != nil {
				got = []string{strings.TrimPrefix(err.Error(), "HookResponseInvalid: sync hook: ")}
			}
			if got := strings.Join(got, ", "); got != tc.want {
				t.Errorf("%s\nwant %q\ngot  %q", tc.reason, tc.want, got)
			}
		})
	}
}

// TestManyEvents checks that only the first events of an answer are read, and that a message is cut once it may be shown.
func TestManyEvents(t *testing.T) {
	var events []any
	for range MaxEvents {
		events = append(events, map[string]any{"reason": "A", "message": strings.Repeat("a", 1<<20)})
	}
	events = append(events, "this one is not read", nil)
	r := ReadResponse(Answer{Body: map[string]any{"events": events}}, ResponseRules{Fields: []string{"events"}})
	got, more := r.Events()
	if r.Err() != nil || len(got) != MaxEvents || more != 2 || len(got[0].Message) != 64<<10 {
		t.Errorf("%d events and %d more (%v)", len(got), more, r.Err())
	}
	if text := MessageOf(got[0].Message); len(text) != 1024 || !strings.HasSuffix(text, "a...") {
		t.Errorf("the message has %d bytes", len(text))
	}
}
