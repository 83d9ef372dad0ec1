package parent

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/engines"
)

func TestAnswer(t *testing.T) {
	cases := map[string]struct {
		reason string
		rules  AnswerRules
		body   string
		want   string // the error, or ""
	}{
		"Whole":          {"A whole answer is taken.", AnswerRules{}, `{"status":{"a":1},"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}],"resyncAfterSeconds":1.5}`, ""},
		"EmptyList":      {"An empty list means none.", AnswerRules{}, `{"children":[]}`, ""},
		"NullList":       {"A null list means none: it is what a nil slice in a Go hook becomes.", AnswerRules{}, `{"children":null}`, ""},
		"Null":           {"A null answer never means none.", AnswerRules{}, `null`, "the hook answered null where an object with status, children, resyncAfterSeconds is needed"},
		"NullLoose":      {"Loose, written out, keeps its meaning.", AnswerRules{AllowAbsentList: true}, `null`, ""},
		"List":           {"A list is no answer.", AnswerRules{}, `[]`, "the hook answered a list where an object with status, children, resyncAfterSeconds is needed"},
		"Empty":          {"An absent list never means none.", AnswerRules{}, `{}`, "children: is required, if only as an empty list: nothing was deleted for want of it"},
		"EmptyLoose":     {"Loose, written out, keeps its meaning.", AnswerRules{AllowAbsentList: true}, `{}`, ""},
		"Misspelt":       {"A misspelt list is found.", AnswerRules{}, `{"Children":[]}`, `children: is required, if only as an empty list (there is "Children"): nothing was deleted for want of it`},
		"Unknown":        {"Unknown fields are left alone.", AnswerRules{}, `{"children":[],"more":1}`, ""},
		"UnknownStrict":  {"In strict mode they are refused.", AnswerRules{RefuseUnknown: true}, `{"children":[],"more":1}`, "more: is no field of this hook's response, which has status, children, resyncAfterSeconds"},
		"NullElement":    {"A null element is refused, and nothing crashes.", AnswerRules{}, `{"children":[null]}`, "children[0]: must be an object, but is null"},
		"NoName":         {"A child needs a name.", AnswerRules{}, `{"children":[{"apiVersion":"v1","kind":"Pod"}]}`, "children[0].metadata.name: is required"},
		"EmptyName":      {"An empty name is none.", AnswerRules{}, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":""}}]}`, "children[0].metadata.name: is required"},
		"NumberName":     {"A name is a string.", AnswerRules{}, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":7}}]}`, "children[0].metadata.name: must be a string, but is a number"},
		"NoKind":         {"A child needs a kind.", AnswerRules{}, `{"children":[{"apiVersion":"v1","metadata":{"name":"x"}}]}`, "children[0].kind: is required"},
		"MetadataString": {"Metadata is an object.", AnswerRules{}, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":"x"}]}`, "children[0].metadata.name: is required"},
		"NumberLabel":    {"Labels are strings, or all of them would be lost.", AnswerRules{}, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","labels":{"a":1}}}]}`, `children[0].metadata.labels["a"]: must be a string, but is a number`},
		"Second":         {"The place of the wrong child is told.", AnswerRules{}, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}},5]}`, "children[1]: must be an object, but is a number"},
		"StatusList":     {"The status is an object.", AnswerRules{}, `{"children":[],"status":[]}`, "status: must be an object, but is a list"},
		"ResyncString":   {"A time is a number.", AnswerRules{}, `{"children":[],"resyncAfterSeconds":"5s"}`, "resyncAfterSeconds: must be a number of seconds, but is a string"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.rules.Fields = []string{"status", "children", "resyncAfterSeconds"}
			var body any
			if err := json.Unmarshal([]byte(tc.body), &body); err != nil {
				t.Fatal(err)
			}
			a := ReadAnswer(body, tc.rules)
			a.Map("status")
			a.Objects("children", tc.rules.AllowAbsentList)
			a.Seconds("resyncAfterSeconds")
			got := ""
			if err := a.Err(); err != nil {
				got = err.Error()
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
