package failover

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// passwords is a schema with a secret field.
var passwords SecretFunc = func(kind schema.GroupVersionKind, path jsonvalue.Path) bool {
	return kind.Kind == "Database" && path.String() == "spec.password"
}

func TestDifferences(t *testing.T) {
	const a = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1"}}`
	const b = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"n"}}`
	const s = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"k":"1"}}`
	const d = `{"apiVersion":"v1","kind":"Database","metadata":{"name":"d"},"spec":{"password":"1"}}`
	cases := map[string]struct {
		reason, served, shadow string
		want                   string
	}{
		"equal":           {"nothing differs", `{"status":{"a":[1,"x",null]}}`, `{"status":{"a":[1,"x",null]}}`, ""},
		"numbers":         {"1 and 1.0 are one number", `{"status":{"n":1}}`, `{"status":{"n":1.0}}`, ""},
		"other number":    {"these are two", `{"status":{"n":1}}`, `{"status":{"n":1.5}}`, "status.n: served 1, shadow 1.5"},
		"number and text": {"a common slip", `{"status":{"n":1}}`, `{"status":{"n":"1"}}`, `status.n: served 1, shadow "1"`},
		"null field":      {"a field of the answer that is null is not there", `{"status":null}`, `{}`, ""},
		"null list":       {"it is an empty one", `{"children":null}`, `{"children":[]}`, ""},
		"no list":         {"that is an error", `{"children":[]}`, `{}`, "children: served [], shadow nothing"},
		"waiting":         {"it has no list, and a null one is none", `{"waiting":{"reason":"A","message":"a"},"children":null}`, `{"waiting":{"reason":"A","message":"a"}}`, ""},
		"other reason":    {"it waits for something else", `{"waiting":{"reason":"A","message":"a"}}`, `{"waiting":{"reason":"B","message":"a"}}`, `waiting.reason: served "A", shadow "B"`},
		"waits or not":    {"both differ", `{"waiting":{"reason":"A","message":"a"}}`, `{"children":[]}`, "children: served nothing, shadow []\nwaiting: served"},
		"events":          {"their order counts", `{"children":[],"events":[{"reason":"A","message":"a"}]}`, `{"children":[],"events":[{"reason":"B","message":"a"}]}`, `events[0].reason: served "A", shadow "B"`},
		"no events":       {"an empty list has none", `{"children":[],"events":[]}`, `{"children":[],"events":null}`, ""},
		"null label":      {"it takes the label away", `{"labels":{"a":null}}`, `{"labels":{}}`, "labels.a: served null, shadow nothing"},
		"order":           {"objects have none", `{"children":[` + a + `,` + b + `]}`, `{"children":[` + b + `,` + a + `]}`, ""},
		"order of values": {"values have one", `{"status":{"l":[1,2]}}`, `{"status":{"l":[2,1]}}`, "status.l[0]: served 1, shadow 2\nstatus.l[1]: served 2, shadow 1"},
		"missing child":   {"by what it is", `{"children":[` + b + `]}`, `{"children":[]}`, "children[v1/ConfigMap/n/b]: served " + `{"apiVersion"`},
		"in a child":      {"with the path", `{"children":[` + a + `]}`, `{"children":[` + strings.Replace(a, `"1"`, `"2"`, 1) + `]}`, `children[v1/ConfigMap/a].data.k: served "1", shadow "2"`},
		"twice":           {"then order is all there is", `{"children":[` + a + `,` + a + `]}`, `{"children":[` + a + `]}`, "children[1]: served"},
		"null":            {"no answer at all", `null`, `{"children":[]}`, `: served null, shadow {"children":[]}`},
		"other type":      {"list and object", `{"status":[]}`, `{"status":{}}`, "status: served [], shadow {}"},
		"object and text": {"either way round", `{"status":"a"}`, `{"status":{}}`, `status: served "a", shadow {}`},
		"in a Secret":     {"where, and not what", `{"children":[` + s + `]}`, `{"children":[` + strings.Replace(s, `"1"`, `"2"`, 1) + `]}`, "children[v1/Secret/s].data.k: served (hidden), shadow (hidden)"},
		"missing Secret":  {"that it is missing, and not what it is", `{"children":[` + s + `]}`, `{"children":[]}`, `children[v1/Secret/s]: served "(hidden)", shadow nothing`},
		"Secrets":         {"as deep as they may be", `{"children":[` + s + `]}`, `{}`, `children: served ["(hidden)"], shadow nothing`},
		"after a Secret":  {"the next is none", `{"children":[` + s + `],"status":1}`, `{"children":[` + s + `],"status":2}`, "status: served 1, shadow 2"},
		"password": {
			"what a schema calls a password", `{"children":[` + d + `]}`, `{"children":[` + strings.Replace(d, `"1"`, `"2"`, 1) + `]}`,
			"children[v1/Database/d].spec.password: served (hidden), shadow (hidden)",
		},
		"missing password": {
			"within what is shown as a whole", `{"children":[` + d + `]}`, `{"children":[]}`,
			`children[v1/Database/d]: served {"apiVersion":"v1","kind":"Database","metadata":{"name":"d"},"spec":{"password":"(hidden)"}}, shadow nothing`,
		},
		"longer": {"what is too much", `{"status":{"l":[1]}}`, `{"status":{"l":[1,2]}}`, "status.l[1]: served nothing, shadow 2"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			var served, shadow any
			if err := json.Unmarshal([]byte(c.served), &served); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(c.shadow), &shadow); err != nil {
				t.Fatal(err)
			}
			got := passwords.format(differences(served, shadow))
			if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("differences\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestFormatIsBounded(t *testing.T) {
	many := map[string]any{}
	for i := range 30 {
		many[strings.Repeat("k", i+1)] = strings.Repeat("ü", 500)
	}
	lines := strings.Split(passwords.format(differences(map[string]any{"status": many}, map[string]any{"status": map[string]any{}})), "\n")
	if diff := cmp.Diff("and 10 more", lines[len(lines)-1]); diff != "" || len(lines) != maxDifferences+1 {
		t.Errorf("%d lines, the last (-want +got):\n%s", len(lines), diff)
	}
	for _, line := range lines {
		if len(line) > maxValueBytes+100 || strings.ContainsRune(line, '\uFFFD') {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
}
