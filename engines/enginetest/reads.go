package enginetest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// ReadHook is a hook of TestReads in the language of an engine.
type ReadHook struct {
	Script string
	// Read is what it reads, if the engine notes more than what the case has.
	Read engines.ReadSet
}

// readCases are ways to look at a parent, by name, which every engine for scripts knows. They get readRequest.
var readCases = map[string]struct {
	reason string
	read   engines.ReadSet
}{
	"nothing":            {"a constant reads no field", engines.ReadSet{}},
	"field":              {"a field of a field is of the field", engines.ReadSet{"parent.spec"}},
	"metadata":           {"of metadata it counts which field", engines.ReadSet{"parent.metadata.name"}},
	"absent":             {"a field that is not there may be there later", engines.ReadSet{"parent.status"}},
	"absent metadata":    {"so may one of metadata", engines.ReadSet{"parent.metadata.annotations"}},
	"label":              {"labels are one field", engines.ReadSet{"parent.metadata.labels"}},
	"presence":           {"to ask whether a field is there reads it", engines.ReadSet{"parent.status"}},
	"metadata presence":  {"so it is in metadata", engines.ReadSet{"parent.metadata.annotations"}},
	"returned":           {"an answer with the parent depends on all of it", engines.ReadSet{"parent"}},
	"metadata returned":  {"and one with its metadata on all of these", engines.ReadSet{"parent.metadata"}},
	"names":              {"names of fields tell which there are", engines.ReadSet{"parent"}},
	"names of metadata":  {"so they do in metadata", engines.ReadSet{"parent.metadata"}},
	"size":               {"so does their number", engines.ReadSet{"parent"}},
	"compared":           {"a comparison looks at all", engines.ReadSet{"parent", "related"}},
	"metadata compared":  {"so it does on the other side", engines.ReadSet{"parent.metadata", "related"}},
	"copied":             {"a copy has all, whatever is added", engines.ReadSet{"parent"}},
	"variable":           {"a variable is no look", engines.ReadSet{"parent.spec"}},
	"metadata variable":  {"nor is one for metadata", engines.ReadSet{"parent.metadata.name", "parent.metadata.namespace"}},
	"function":           {"nor is an argument", engines.ReadSet{"parent.metadata.name", "parent.spec"}},
	"branch":             {"what is not evaluated is not read", engines.ReadSet{"finalizing", "parent.spec"}},
	"text":               {"a text of the parent depends on all of it", engines.ReadSet{"parent"}},
	"whole request":      {"fields of the request are its own, however it is named", engines.ReadSet{"parent.spec"}},
	"library name":       {"the module looks only at what it needs", engines.ReadSet{"parent.metadata.namespace"}},
	"library conditions": {"also of the status", engines.ReadSet{"parent.status"}},
}

// readRequest returns a request whose parent has neither a status nor annotations, and an equal object among the related.
func readRequest() map[string]any {
	parent := func() map[string]any {
		return map[string]any{
			"apiVersion": "example.com/v1", "kind": "Thing",
			"metadata": map[string]any{
				"name": "p", "namespace": "shop", "uid": "u", "generation": int64(1), "labels": map[string]any{"app": "web"},
			},
			"spec": map[string]any{"size": int64(2), "text": "x"},
		}
	}
	return map[string]any{
		"controller": map[string]any{"spec": map[string]any{}}, "parent": parent(), "finalizing": false,
		"children": map[string]any{"ConfigMap.v1": map[string]any{}},
		"related":  map[string]any{"Thing.example.com/v1": map[string]any{"shop/p": parent()}},
	}
}

// TestReads runs a hook for each way to look at a parent. What the hooks did not read is then changed.
func (c Caller) TestReads(t *testing.T, hooks map[string]ReadHook) {
	for name := range hooks {
		if _, known := readCases[name]; !known {
			t.Errorf("there is no case %q", name)
		}
	}
	for name, tc := range readCases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			hook, ok := hooks[name]
			if !ok {
				t.Fatal("nothing says how this reads in the language")
			}
			want := tc.read
			if hook.Read != nil {
				want = hook.Read
			}
			c.CheckReads(t, c.Script(hook.Script), readRequest(), want)
		})
	}
}

// CheckReads checks what a hook reads of a request, and that its answer stays the same
// while all else changes.
func (c Caller) CheckReads(t *testing.T, src engines.Source, request map[string]any, read engines.ReadSet) {
	t.Helper()
	c.MustRead(t, src, request, read)
	program, err := c.Compile(t, src)
	if err != nil {
		t.Fatal(err)
	}
	c.CheckUnread(t, program, request)
}

// CheckUnread checks that the answer of a program stays the same, as does what it reads, while that changes which it says it
// does not read. It returns what the program reads, and false if it fails.
func (c Caller) CheckUnread(t *testing.T, program engines.Program, request map[string]any) (engines.ReadSet, bool) {
	t.Helper()
	before, failure := c.run(t, program, request, patience)
	if failure != nil {
		return nil, false
	}
	for name, changed := range unreadChanges(request, before.Read) {
		after, failure := c.run(t, program, changed, patience)
		if failure != nil {
			t.Errorf("%s in place of all but %v, which was read, and the hook fails: %s", name, before.Read, failure.Detail())
			continue
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s in place of all but %v, which was read, and the answer is another one (-before +after):\n%s", name, before.Read, diff)
		}
	}
	return before.Read, true
}

// unreadChanges returns requests in which all that is not in read has changed, in one way each. Fields of the request
// itself neither appear nor vanish, and there is always a parent with metadata.
func unreadChanges(request map[string]any, read engines.ReadSet) map[string]map[string]any {
	changes := map[string]map[string]any{}
	for name, value := range replacements {
		changed := request
		for _, path := range readablePaths(request) {
			if !read.Contains(path) && (value != removed{} || strings.Contains(path, ".")) {
				changed = withPath(changed, strings.Split(path, "."), value)
			}
		}
		changes[name] = changed
	}
	return changes
}

// readablePaths returns the paths that a ReadSet can have of a request, and some of fields that it has not.
func readablePaths(request map[string]any) []string {
	var paths []string
	for _, field := range slices.Sorted(maps.Keys(request)) {
		object, isObject := request[field].(map[string]any)
		if field != "parent" && field != "object" || !isObject {
			paths = append(paths, field)
			continue
		}
		metadata, _ := object["metadata"].(map[string]any)
		for _, name := range fieldsAnd(object, "spec", "status", "extra") {
			if name != "metadata" {
				paths = append(paths, field+"."+name)
			}
		}
		for _, name := range fieldsAnd(metadata, "labels", "annotations", "finalizers", "extra") {
			paths = append(paths, field+".metadata."+name)
		}
	}
	return paths
}

func fieldsAnd(object map[string]any, more ...string) []string {
	names := append(slices.Collect(maps.Keys(object)), more...)
	slices.Sort(names)
	return slices.Compact(names)
}

// removed stands for no value.
type removed struct{}

// replacements are put in the place of what was not read.
var replacements = map[string]any{
	"texts are there": "changed", "nulls are there": nil, "nothing is there": removed{},
	"objects are there": map[string]any{"size": int64(9), "app": "other"},
}

// withPath returns a copy of the object with another value at path.
func withPath(object map[string]any, path []string, value any) map[string]any {
	copied := maps.Clone(object)
	switch part, _ := object[path[0]].(map[string]any); {
	case len(path) > 1:
		copied[path[0]] = withPath(part, path[1:], value)
	case value == removed{}:
		delete(copied, path[0])
	default:
		copied[path[0]] = value
	}
	return copied
}

// ReadForms are expressions that look at objects, with %O for the object and %F for a field of it, and
// how a hook is made of an expression. Objects are expressions for the request, its parent, and the metadata of that.
type ReadForms struct {
	Objects [3]string
	Forms   []string
	Script  func(object, expression string) string
	// Files are beside the script.
	Files map[string]string
}

// formFields are the fields that forms are tried with, which are there or not, for each of ReadForms.Objects.
var formFields = [3][]string{{"parent", "children"}, {"spec", "status", "metadata"}, {"name", "labels", "annotations"}}

// CheckForms tries each form with each object and field, and checks that what the hook says it does not read is of no
// matter.
func (c Caller) CheckForms(t *testing.T, forms ReadForms) {
	engine := c.Start(t)
	for _, form := range forms.Forms {
		t.Run(form, func(t *testing.T) {
			answered := false
			for i, object := range forms.Objects {
				for _, field := range formFields[i] {
					script := forms.Script(object, strings.NewReplacer("%O", object, "%F", field).Replace(form))
					files := map[string]string{c.Path: script}
					maps.Copy(files, forms.Files)
					program, err := engine.Compile(t.Context(), Source(c.Path, files))
					if err != nil {
						t.Fatalf("%s: %v", script, err)
					}
					read, ok := c.CheckUnread(t, program, readRequest())
					answered = answered || ok
					t.Logf("%s reads %v", script, read)
					if !strings.Contains(form, "%F") {
						break
					}
				}
			}
			if !answered {
				t.Error("no hook with it answers")
			}
		})
	}
}
