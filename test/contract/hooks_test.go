package contract

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/hooks"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/javascript"
	"github.com/libretto-k8s/libretto/test/env"
)

const (
	compositeDefinition = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: boxes}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: boxes}
  childResources: [{apiVersion: v1, resource: configmaps}]
  hooks: {sync: HOOK, finalize: HOOK, customize: HOOK}`
	decoratorDefinition = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: boxes}
spec:
  resources: [{apiVersion: example.com/v1, resource: boxes}]
  attachments: [{apiVersion: v1, resource: configmaps}]
  hooks: {sync: HOOK, finalize: HOOK, customize: HOOK}`
	mapDefinition = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: MapController
metadata: {name: boxes}
spec:
  parentResource: {apiVersion: example.com/v1, resource: boxes}
  inputResources: [{apiVersion: v1, resource: secrets}]
  outputResources: [{apiVersion: v1, resource: configmaps}]
  hooks: {map: HOOK, tombstone: HOOK, finalize: HOOK, customize: HOOK}`

	parentText = `{apiVersion: example.com/v1, kind: Box, metadata: {name: a, namespace: default, generation: 1}, spec: {}}`
	input      = `{apiVersion: v1, kind: Secret, metadata: {name: in, namespace: default}}`
	output     = `{apiVersion: v1, kind: ConfigMap, metadata: {name: out}}`
)

// hookTypes are the hooks, the definitions that have them, and the types of their requests and responses.
var hookTypes = map[string]struct {
	definition, finalizer, hook string
	request, response           any
}{
	"composite sync":      {compositeDefinition, "", "sync", hooks.CompositeRequest{}, hooks.CompositeResponse{}},
	"composite finalize":  {compositeDefinition, "compositecontroller", "finalize", hooks.CompositeRequest{}, hooks.CompositeResponse{}},
	"composite customize": {compositeDefinition, "", "customize", hooks.CustomizeRequest{}, hooks.CustomizeResponse{}},
	"decorator sync":      {decoratorDefinition, "", "sync", hooks.DecoratorRequest{}, hooks.DecoratorResponse{}},
	"decorator finalize":  {decoratorDefinition, "decoratorcontroller", "finalize", hooks.DecoratorRequest{}, hooks.DecoratorResponse{}},
	"decorator customize": {decoratorDefinition, "", "customize", hooks.CustomizeRequest{}, hooks.CustomizeResponse{}},
	"map":                 {mapDefinition, "", "map", hooks.MapRequest{}, hooks.MapResponse{}},
	"map tombstone":       {mapDefinition, "", "tombstone", hooks.TombstoneRequest{}, hooks.TombstoneResponse{}},
	"map finalize":        {mapDefinition, "mapcontroller", "finalize", hooks.MapFinalizeRequest{}, hooks.MapFinalizeResponse{}},
	"map customize":       {mapDefinition, "", "customize", hooks.CustomizeRequest{}, hooks.CustomizeResponse{}},
}

// TestRequests checks the request of every hook against its type.
func TestRequests(t *testing.T) {
	for name, c := range hookTypes {
		for _, version := range []string{"v1", "v2"} {
			if version == "v1" && c.definition == mapDefinition {
				continue // There is no v1 of its hooks.
			}
			t.Run(name+"/"+version, func(t *testing.T) {
				session, recorded := start(t, c.definition, version, c.finalizer)
				_ = pass(t, session, recorded, c.hook, nil)
				want := fieldsOf(c.request)
				delete(want, "parameters") // The engines add those: see TestParameters.
				got := recorded[c.hook].request
				if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
					t.Fatalf("fields of the request (-%T +what was sent):\n%s", c.request, diff)
				}
				for field, kind := range want {
					if sent := reflect.TypeOf(got[field]).Kind(); sent != jsonKind(kind) {
						t.Errorf("%s: a %v was sent, and %T has a %v", field, sent, c.request, kind)
					}
				}
			})
		}
	}
}

// TestResponses checks that a response may have every field of its type, and that the error for an unknown
// field lists them.
func TestResponses(t *testing.T) {
	listed := regexp.MustCompile(`more: is no field of this hook's response, which has ([A-Za-z, ]+)`)
	for name, c := range hookTypes {
		t.Run(name, func(t *testing.T) {
			var answer map[string]any
			for _, more := range []bool{false, true} {
				answer = answerOf(t, c.response)
				session, recorded := start(t, c.definition, "v2", c.finalizer)
				if more {
					answer["more"] = true
				}
				err := pass(t, session, recorded, c.hook, answer)
				if !more {
					if err != nil {
						t.Fatalf("every field of %T: %v", c.response, err)
					}
					continue
				}
				if err == nil || !listed.MatchString(err.Error()) {
					t.Fatalf("an unknown field: %v", err)
				}
				known := strings.Split(listed.FindStringSubmatch(err.Error())[1], ", ")
				slices.Sort(known)
				if diff := cmp.Diff(slices.Sorted(maps.Keys(fieldsOf(c.response))), known); diff != "" {
					t.Errorf("fields of the response (-%T +what is taken):\n%s", c.response, diff)
				}
			}
		})
	}
}

// TestWaiting checks that a hook may answer waiting in place of its list, with every field of its type, if its response has the field.
func TestWaiting(t *testing.T) {
	for name, c := range hookTypes {
		fields := fieldsOf(c.response)
		if fields["waiting"] == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			waiting := map[string]any{"reason": "Late", "message": "not yet"}
			coversAll(t, hooks.Waiting{}, []any{waiting})
			for _, version := range []string{"v1", "v2"} {
				if version == "v1" && c.definition == mapDefinition {
					continue // There is no v1 of its hooks.
				}
				session, recorded := start(t, c.definition, version, c.finalizer)
				answer := map[string]any{"waiting": waiting}
				err := pass(t, session, recorded, c.hook, answer)
				waits := session.Waits(object(t, parentText))
				if version == "v1" && (err == nil || !strings.Contains(err.Error(), "set version: v2") || len(waits) != 0) {
					t.Errorf("a webhook of version v1: %v, %v", err, waits)
				}
				if version == "v2" && (err != nil || len(waits) != 1 || waits[0].Reason != "Late" || waits[0].Message != "not yet") {
					t.Errorf("%v, %v", err, waits)
				}
			}
		})
	}
}

// TestParameters checks that engines add only parameters to a request.
func TestParameters(t *testing.T) {
	engine, err := javascript.Definition().New(engines.Config{})
	env.NoError(t, err)
	program, err := engine.Compile(t.Context(), engines.Source{Hook: "sync", Script: &engines.Script{
		Path: "a.js", Files: map[string]string{"a.js": "export const sync = (request) => Object.keys(request)"}, Parameters: map[string]any{},
	}})
	env.NoError(t, err)
	response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{"parent": map[string]any{}}})
	env.NoError(t, err)
	if diff := cmp.Diff(any([]any{"parameters", "parent"}), response.Body); diff != "" {
		t.Errorf("fields of a request (-want +got):\n%s", diff)
	}
}

// TestKubernetesTypes checks our types of Kubernetes' metadata against Kubernetes' own.
func TestKubernetesTypes(t *testing.T) {
	for name, c := range map[string]struct {
		ours, theirs any
		without      []string
	}{
		"ObjectMeta":               {hooks.ObjectMeta{}, metav1.ObjectMeta{}, []string{"managedFields", "selfLink"}},
		"OwnerReference":           {hooks.OwnerReference{}, metav1.OwnerReference{}, nil},
		"Condition":                {hooks.Condition{}, metav1.Condition{}, nil},
		"LabelSelector":            {hooks.LabelSelector{}, metav1.LabelSelector{}, nil},
		"LabelSelectorRequirement": {hooks.LabelSelectorRequirement{}, metav1.LabelSelectorRequirement{}, nil},
	} {
		theirs := fieldsOf(c.theirs)
		for _, field := range c.without {
			delete(theirs, field)
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(theirs)), slices.Sorted(maps.Keys(fieldsOf(c.ours)))); diff != "" {
			t.Errorf("fields of %s (-Kubernetes' +ours):\n%s", name, diff)
		}
	}
}

// recordingProgram keeps the last request.
type recordingProgram struct {
	engines.ProgramBase
	request, answer map[string]any
}

func (r *recordingProgram) Run(_ context.Context, call engines.Call) (engines.Response, error) {
	r.request = call.Request
	return engines.Response{Body: r.answer}, nil
}

// start returns a session with a parent and an input. All hooks return minimal answers.
func start(t *testing.T, definition, version, finalizer string) (*simulation.Session, map[string]*recordingProgram) {
	t.Helper()
	boxes, err := memcluster.Custom("example.com/v1", "Box", "boxes", true, true)
	env.NoError(t, err)
	parent := object(t, parentText)
	if finalizer != "" {
		now := metav1.Unix(0, 0)
		parent.SetDeletionTimestamp(&now)
		parent.SetFinalizers([]string{"metacontroller.io/" + finalizer + "-boxes"})
	}
	recorded := map[string]*recordingProgram{}
	programs := map[string]engines.Program{}
	for hook, answer := range map[string]string{
		"sync": "{children: []}", "finalize": "{children: []}", "customize": "{}", "map": "{outputs: [" + output + "]}", "tombstone": "{outputs: []}",
	} {
		if strings.Contains(definition, "Decorator") {
			answer = strings.ReplaceAll(answer, "children", "attachments")
		}
		if strings.Contains(definition, "Map") {
			answer = strings.ReplaceAll(answer, "children", "outputs")
		}
		recorded[hook] = &recordingProgram{answer: object(t, answer).Object}
		programs[hook] = recorded[hook]
	}
	hook := `{version: ` + version + `, webhook: {url: "http://hooks.invalid"}}`
	session, err := simulation.Run(t.Context(), simulation.Input{
		Definition: object(t, strings.ReplaceAll(definition, "HOOK", hook)), Objects: []*unstructured.Unstructured{parent, object(t, input)},
		Resources: []memcluster.Resource{boxes}, Programs: programs, Clock: testclock.NewFakeClock(time.Unix(0, 0)), Log: logr.Discard(),
	})
	env.NoError(t, err)
	t.Cleanup(session.Close)
	return session, recorded
}

// pass makes a pass that calls the hook and returns its error. The hook returns answer, unless it is nil.
func pass(t *testing.T, session *simulation.Session, recorded map[string]*recordingProgram, hook string, answer map[string]any) error {
	t.Helper()
	if answer != nil {
		recorded[hook].answer = answer
	}
	result, err := session.Reconcile(t.Context(), object(t, parentText))
	if hook == "tombstone" {
		result, err = deleteInput(t, session)
	}
	env.NoError(t, err)
	if recorded[hook].request == nil {
		t.Fatalf("%s was not asked: %v", hook, result.Err)
	}
	return result.Err
}

// deleteInput deletes the input and makes a pass.
func deleteInput(t *testing.T, session *simulation.Session) (simulation.Result, error) {
	t.Helper()
	err := session.Edit(t.Context(), func(client dynamic.Interface) error {
		at, err := session.Cluster().Endpoint(client, object(t, input))
		return errors.Join(err, at.Delete(t.Context(), "in", metav1.DeleteOptions{}))
	})
	env.NoError(t, err)
	return session.Reconcile(t.Context(), object(t, parentText))
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	env.NoError(t, yaml.Unmarshal([]byte(text), &o.Object))
	return o
}

// answerOf returns an answer with every field of a response's type.
func answerOf(t *testing.T, response any) map[string]any {
	t.Helper()
	answer := map[string]any{}
	for field, kind := range fieldsOf(response) {
		if field == "waiting" {
			continue // It stands in place of the list: see TestWaiting.
		}
		switch jsonKind(kind) {
		case reflect.Slice:
			answer[field] = []any{}
		case reflect.Map:
			answer[field] = map[string]any{}
		case reflect.Float64:
			answer[field] = 2.5
		case reflect.Bool:
			answer[field] = false
		default:
			t.Fatalf("%T.%s: what to answer for a %v?", response, field, kind)
		}
	}
	if _, ok := answer["events"]; ok {
		answer["events"] = object(t, `{list: [{type: Warning, reason: Late, message: at last}]}`).Object["list"]
		coversAll(t, hooks.Event{}, answer["events"].([]any))
	}
	if _, ok := response.(hooks.CustomizeResponse); ok {
		answer["relatedResources"] = object(t, `{list: [
			{apiVersion: v1, resource: secrets, labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]}, namespaceSelector: {}},
			{apiVersion: v1, resource: secrets, namespace: default, names: [in]}]}`).Object["list"]
		coversAll(t, hooks.RelatedResourceRule{}, answer["relatedResources"].([]any))
	}
	return answer
}

// coversAll checks that every field of the type of a list's items is set in some of them.
func coversAll(t *testing.T, item any, items []any) {
	t.Helper()
	all := map[string]any{}
	for _, item := range items {
		maps.Copy(all, item.(map[string]any))
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(fieldsOf(item))), slices.Sorted(maps.Keys(all))); diff != "" {
		t.Errorf("fields of the items of %T (-type +answer):\n%s", item, diff)
	}
}

// fieldsOf returns the JSON fields of a struct, with those of embedded structs.
func fieldsOf(value any) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(value)) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			fields[name] = f.Type
		}
	}
	return fields
}

// jsonKind returns the kind of value that unstructured objects have for a type.
func jsonKind(t reflect.Type) reflect.Kind {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		return reflect.Map
	}
	return t.Kind()
}
