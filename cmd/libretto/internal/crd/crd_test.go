package crd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// TestGolden compares the definitions of the schemas in testdata with those beside them.
func TestGolden(t *testing.T) {
	schemas, err := filepath.Glob("testdata/*[a-z].yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range schemas {
		name, _ := strings.CutSuffix(schema, ".yaml")
		if strings.HasSuffix(name, ".crd") {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			code, stdout, stderr := clitest.Program{Command}.Run(t, "", "crd", schema)
			if code != 0 || stderr != "" {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			golden := name + ".crd.yaml"
			if *clitest.Update {
				if err := os.WriteFile(golden, []byte(stdout), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), stdout); diff != "" {
				t.Errorf("go test ./cmd/libretto/internal/crd -update (-want +got):\n%s", diff)
			}
		})
	}
}

// TestErrors checks that errors name the line, the field and the way out.
func TestErrors(t *testing.T) {
	const head = "group: example.com\nkind: Shop\n"
	for name, c := range map[string]struct {
		schema string
		want   []string // Parts of the lines.
	}{
		"nothing":                    {"", []string{"a.yaml: is empty: a schema has group, kind and spec"}},
		"no mapping":                 {"[a]", []string{"a.yaml:1: the schema: must be a mapping"}},
		"no names":                   {"spec: {}", []string{"a.yaml:1: group: is missing: ", "a.yaml:1: kind: must be letters and digits"}},
		"a group of Kubernetes":      {"group: a.k8s.io\nkind: Shop", []string{"a.yaml:1: group: must be a domain of yours"}},
		"a version":                  {head + "version: 1.0.0", []string{"a.yaml:3: version: 1.0.0: must be like v1"}},
		"a number as text":           {head + "version: 1", []string{"a.yaml:3: version: must be a text"}},
		"a scope":                    {head + "scope: Global", []string{"a.yaml:3: scope: Global: must be Namespaced or Cluster"}},
		"short names":                {head + "shortNames: {a: b}", []string{"a.yaml:3: shortNames: must be a list, such as [a, b]"}},
		"an alias":                   {head + "spec: &a {b: *a}", []string{"a.yaml:3: spec.b: is an alias of YAML: give what it stands for a name under types"}},
		"an unknown key":             {head + "specs: {}", []string{"a.yaml:3: specs: there is no such key: did you mean spec?"}},
		"a key twice":                {head + "spec: {}\nspec: {}", []string{"a.yaml:3: spec: is there twice"}},
		"a list without quotes":      {head + "spec:\n  a: []string", []string{`a.yaml: yaml: `, `the type of a list is "[]string", in quotes`}},
		"a list of YAML":             {head + "spec:\n  a: [string]", []string{`a.yaml:4: spec.a: is a list in YAML: the type of a list is "[]string", in quotes`}},
		"a colon":                    {head + "spec:\n  a: string | default=\"b: c\"", []string{"a.yaml: yaml: ", "put a line that has a colon with a space into quotes"}},
		"a comment":                  {head + "spec:\n  a: string | default=\"b # c\"", []string{"a.yaml:4: spec.a: default: there is no \" at the end of", "into quotes"}},
		"a number as type":           {head + "spec:\n  a: 1", []string{"a.yaml:4: spec.a: must be a type with its markers"}},
		"an unknown type":            {head + "spec:\n  a: {b: strng}", []string{`a.yaml:4: spec.a.b: there is no type "strng": did you mean string?`}},
		"a type far from all":        {head + "spec:\n  a: Xyz", []string{`there is no type "Xyz": there are boolean, float, intOrString`, "those under types"}},
		"keys of a map":              {head + "spec:\n  a: map[integer]string", []string{"spec.a: type map[integer]string: the keys of a map are strings: map[string]string"}},
		"a type of itself":           {head + "types:\n  A: {b: B}\n  B: {a: '[]A'}", []string{"a.yaml:5: types.B.a: type A has itself among its fields"}},
		"a required type":            {head + "types:\n  A: string | required=true", []string{"a.yaml:4: types.A: required and immutable are for the fields of the type"}},
		"an unknown marker":          {head + "spec:\n  a: string | minLenght=1", []string{"a.yaml:4: spec.a: there is no marker minLenght: did you mean minLength?"}},
		"a marker far from all":      {head + "spec:\n  a: string | x=1", []string{"spec.a: there is no marker x: there are default, description, enum,"}},
		"uniqueItems":                {head + "spec:\n  a: '[]string | uniqueItems=true'", []string{"there is no marker uniqueItems: the API server refuses it: use listType=set"}},
		"a marker of another type":   {head + "spec:\n  a: string | minimum=1", []string{"spec.a: marker minimum is for integer and number, and this is string"}},
		"a marker without value":     {head + "spec:\n  a: string | required", []string{"spec.a: marker required has no value: markers are like required=true"}},
		"an empty value":             {head + "spec:\n  a: string | default= required=true", []string{"spec.a: default: there is no value after ="}},
		"no boolean":                 {head + "spec:\n  a: string | required=yes", []string{"spec.a: required=yes: must be true or false"}},
		"no number":                  {head + "spec:\n  a: integer | minimum=a", []string{"spec.a: minimum=a: must be a number"}},
		"no length":                  {head + "spec:\n  a: string | maxLength=-1", []string{"spec.a: maxLength=-1: must be a whole number"}},
		"an enum of another type":    {head + "spec:\n  a: integer | enum=\"1,b\"", []string{"spec.a: enum=1,b: b is no integer"}},
		"a message of nothing":       {head + "spec:\n  a: string | message=b", []string{"spec.a: message=b: must follow the validation"}},
		"a default of another type":  {head + "spec:\n  a: integer | default=b", []string{"a.yaml:4: spec.a.default: must be of type integer, and is of type string"}},
		"a default that is invalid":  {head + "spec:\n  a: integer | default=0 minimum=1", []string{"a.yaml:4: spec.a.default: Invalid value"}},
		"a rule that does not build": {head + "spec:\n  a: integer | validation=\"slef > 0\"", []string{"a.yaml:4: spec.a.x-kubernetes-validations[0].rule: ", "undeclared reference to 'slef'"}},
		"a rule beside a default":    {head + "spec:\n  a: integer | default=1 validation=\"self >\"", []string{"a.yaml:4: spec.a.x-kubernetes-validations[0].rule: "}},
		"an object":                  {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition", []string{"a.yaml:1: has an apiVersion: it is an object already"}},
		"a schema of OpenAPI":        {head + "spec:\n  type: object\n  properties: {a: {type: string}}", []string{"a.yaml:3: spec: is a schema of OpenAPI", "such as image: string"}},
		"bounds that cross":          {head + "spec:\n  a: integer | minimum=3 maximum=2", []string{"a.yaml:4: spec.a: minimum is more than the maximum beside it"}},
		"a rule that costs much": {
			head + "types:\n  N: string | validation=\"self.matches('a') && self.matches('b')\"\nspec:\n  a: \"[][]N\"",
			[]string{"a.yaml:6: spec.a.x-kubernetes-validations[0].rule: ", "bound what it reads"},
		},
		"immutable in a list":       {head + "types:\n  N: {a: 'string | immutable=true'}\nspec:\n  l: '[]N | maxItems=3'", []string{"spec.l.a.x-kubernetes-validations[0].rule: ", "oldSelf is not known in a list"}},
		"a list map without keys":   {head + "spec:\n  a: '[]string | listType=map'", []string{"a.yaml:4: spec.a: listType=map needs a listMapKey="}},
		"a list type":               {head + "spec:\n  a: '[]string | listType=bag'", []string{"a.yaml:4: spec.a: listType=bag: there are atomic, map, set"}},
		"keys of no map":            {head + "spec:\n  a: '[]string | listMapKey=b'", []string{"spec.a: listMapKey is for lists with listType=map"}},
		"keys of texts":             {head + "spec:\n  a: '[]string | listType=map listMapKey=b'", []string{"spec.a: listMapKey=b: the items have no such field: they must be objects"}},
		"a key that may be absent":  {head + "types: {N: {b: string}}\nspec:\n  a: '[]N | listType=map listMapKey=b'", []string{"spec.a: listMapKey=b: the field must have required=true"}},
		"a pattern":                 {head + "spec:\n  a: string | pattern='['", []string{"spec.a: pattern=[: error parsing regexp: missing closing ]"}},
		"a spec that is no object":  {head + "spec: string", []string{"a.yaml:3: spec: must be an object"}},
		"conditions":                {head + "status: {conditions: object}", []string{"a.yaml:3: status: conditions is in every status: leave it out"}},
		"metadata":                  {head + "metadata: {labels: string}", []string{"a.yaml:3: metadata"}},
		"a column's path":           {head + "additionalPrinterColumns: {A: spec.a}", []string{"A: spec.a is no JSONPath: one begins with a dot"}},
		"a column of no field":      {head + "spec: {image: string}\nadditionalPrinterColumns: {A: .spec.imag}", []string{"a.yaml:4: additionalPrinterColumns.A: .spec.imag: the schema has no field imag there: did you mean image?"}},
		"a marker of a column":      {head + "additionalPrinterColumns: {A: .spec | prio=1}", []string{"A: there is no marker prio of columns: there are description, format, priority, type"}},
		"a column's type":           {head + "additionalPrinterColumns: {A: .spec | type=object}", []string{"A: type=object: there are boolean, date, integer, number, string"}},
		"a column's priority":       {head + "additionalPrinterColumns: {A: .spec | priority=low}", []string{"A: priority=low: must be a whole number"}},
		"a scale without replicas":  {head + "scale: {}", []string{"a.yaml:3: scale: .spec.replicas: the schema has no field replicas there: add it", "scale: .status.replicas: "}},
		"a scale of text":           {head + "spec: {replicas: string}\nstatus: {replicas: integer}\nscale: {}", []string{"scale: .spec.replicas is string: must be integer"}},
		"an unknown path of scale":  {head + "scale: {specReplicaPath: .spec.a}", []string{"a.yaml:3: scale.specReplicaPath: there is no such key: did you mean specReplicasPath?"}},
		"the second of two schemas": {head + "---\n" + head + "spec: {a: b}", []string{`a.yaml:6: spec.a: there is no type "b"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Make("a.yaml", []byte(c.schema))
			if err == nil {
				t.Fatal("is accepted")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s\ndoes not contain %s", err, part)
				}
			}
		})
	}
}

func TestResourceNames(t *testing.T) {
	for kind, want := range map[string]string{
		"WebApp": "webapps", "TeamPolicy": "teampolicies", "Gateway": "gateways", "Sandbox": "sandboxes", "Ingress": "ingresses", "Match": "matches",
	} {
		if plural, singular := ResourceNames(kind); plural != want || singular != strings.ToLower(kind) {
			t.Errorf("%s: got %s and %s, want %s", kind, plural, singular, want)
		}
	}
}

// TestSplit checks how a field is parted into its type and its markers.
func TestSplit(t *testing.T) {
	for name, c := range map[string]struct {
		line, kind string
		want       []assignment
	}{
		"a type":                   {"string", "string", nil},
		"a bar after it":           {"string |", "string", nil},
		"quotes":                   {`string | description="a | b = \"c\"" default='\"'`, "string", []assignment{{"description", `a | b = "c"`}, {"default", `\"`}}},
		"backslashes of a pattern": {`string | pattern="^\d+\\.$"`, "string", []assignment{{"pattern", `^\d+\.$`}}},
		"brackets":                 {`[]string | default=["a b", "]"] maxItems=3`, "[]string", []assignment{{"default", `["a b", "]"]`}, {"maxItems", "3"}}},
		"braces":                   {`object | default={"a": {"b": 1}}`, "object", []assignment{{"default", `{"a": {"b": 1}}`}}},
		"bars between markers":     {"integer | minimum=1 | maximum=2", "integer", []assignment{{"minimum", "1"}, {"maximum", "2"}}},
		"lines":                    {"integer |\n  minimum=1\n  maximum=2\n", "integer", []assignment{{"minimum", "1"}, {"maximum", "2"}}},
		"nothing in quotes":        {`string | default=""`, "string", []assignment{{"default", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			kind, got, err := split(c.line)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(assignment{})); diff != "" || kind != c.kind {
				t.Errorf("type %q (-want +got):\n%s", kind, diff)
			}
		})
	}
}

// TestCommand checks files and streams.
func TestCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	const schema = "group: example.com\nkind: Shop\nspec: {name: string}\n"
	if err := os.WriteFile("schema.yaml", []byte(schema), 0o644); err != nil {
		t.Fatal(err)
	}
	program := clitest.Program{Command}
	if code, stdout, stderr := program.Run(t, "", "crd", "schema.yaml", "-o", "out/crd.yaml"); code != 0 || stdout != "wrote out/crd.yaml\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	written, err := os.ReadFile("out/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, stdout, _ := program.Run(t, schema, "crd", "-")
	if diff := cmp.Diff(strings.Replace(string(written), "schema.yaml", "standard input", 1), stdout); diff != "" {
		t.Errorf("standard input makes another (-file +stdin):\n%s", diff)
	}
	if code, _, stderr := program.Run(t, "", "crd", "none.yaml"); code != 2 || !strings.Contains(stderr, "none.yaml") {
		t.Errorf("no file: exit code %d: %s", code, stderr)
	}
	if code, _, stderr := program.Run(t, "", "crd"); code != 2 || !strings.Contains(stderr, "name one file with a schema") {
		t.Errorf("no argument: exit code %d: %s", code, stderr)
	}
}
