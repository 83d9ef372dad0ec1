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
