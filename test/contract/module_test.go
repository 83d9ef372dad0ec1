package contract

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/cel"
	"github.com/libretto-k8s/libretto/engines/javascript"
	"github.com/libretto-k8s/libretto/engines/jsonnet"
	"github.com/libretto-k8s/libretto/test/env"
)

// moduleScripts call a function of the module by its name, in each language that has a module.
var moduleScripts = map[string]struct {
	definition   engines.Definition
	path, script string
}{
	"JavaScript": {javascript.Definition(), "sync.js", `
		import * as libretto from "libretto";
		export const sync = ({ name, args }) => ({ result: libretto[name](...args) });`},
	"Jsonnet": {jsonnet.Definition(), "sync.jsonnet", `
		local libretto = import 'libretto';
		function(request)
		  local f = libretto[request.name], a = request.args;
		  { result: if std.length(a) == 1 then f(a[0]) else if std.length(a) == 2 then f(a[0], a[1])
		    else if std.length(a) == 3 then f(a[0], a[1], a[2]) else f(a[0], a[1], a[2], a[3]) }`},
}

// moduleCaller returns a function that calls the module in one language.
func moduleCaller(t *testing.T, language string) func(name string, args []any) (any, error) {
	t.Helper()
	c := moduleScripts[language]
	engine, err := c.definition.New(engines.Config{})
	env.NoError(t, err)
	program, err := engine.Compile(t.Context(), engines.Source{Hook: "sync", Script: &engines.Script{Path: c.path, Files: map[string]string{c.path: c.script}}})
	env.NoError(t, err)
	return func(name string, args []any) (any, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		response, err := program.Run(ctx, engines.Call{Request: map[string]any{"name": name, "args": args}})
		if err != nil {
			return nil, err
		}
		return response.Body.(map[string]any)["result"], nil
	}
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := utiljson.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

const (
	web       = `{"metadata": {"namespace": "a", "name": "web"}}`
	bare      = `{"metadata": {"name": "web"}}`
	inA       = `{"metadata": {"namespace": "a", "name": "p"}}`
	inNone    = `{"metadata": {"name": "p"}}`
	ready     = `{"status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]}}`
	groups    = `{"Pod.v1": {"a/y": 2, "a/x": 1, "a/x-1": 3}, "Deployment.apps/v1": {}}`
	condition = `{"type": "Ready", "status": "True", "lastTransitionTime": "then", "reason": "Old"}`
)

// celCaller returns a function that calls a function of CEL. Arguments are written as JSON.
func celCaller(t *testing.T) func(name string, args []any) (any, error) {
	t.Helper()
	engine, err := cel.Definition().New(engines.Config{})
	env.NoError(t, err)
	return func(name string, args []any) (any, error) {
		text, err := utiljson.Marshal(args)
		env.NoError(t, err)
		expression := "{'result': " + name + "(" + string(text[1:len(text)-1]) + ")}"
		files := map[string]string{"sync.cel": expression}
		program, err := engine.Compile(t.Context(), engines.Source{Hook: "sync", Script: &engines.Script{Path: "sync.cel", Files: files}})
		if err != nil {
			return nil, err
		}
		response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{"parent": map[string]any{}}})
		if err != nil {
			return nil, err
		}
		return response.Body.(map[string]any)["result"], nil
	}
}

// moduleCase is a call of a function. If it fails, that is with this message.
type moduleCase struct{ reason, name, args, want, fails string }

// runModuleCases runs each case in each language that has the function.
func runModuleCases(t *testing.T, cases map[string]moduleCase) {
	t.Helper()
	inCEL := map[string]bool{}
	for _, function := range documentedFunctions(t) {
		inCEL[function.name] = function.inCEL
	}
	callers := map[string]func(string, []any) (any, error){"CEL": celCaller(t)}
	for language := range moduleScripts {
		callers[language] = moduleCaller(t, language)
	}
	for language, call := range callers {
		for name, c := range cases {
			if language == "CEL" && !inCEL[c.name] {
				continue
			}
			t.Run(language+"/"+name, func(t *testing.T) {
				t.Log(c.reason)
				got, err := call(c.name, parsed(t, c.args).([]any))
				if c.fails != "" {
					checkModuleError(t, language, err, c.fails)
					return
				}
				env.NoError(t, err)
				if diff := cmp.Diff(parsed(t, c.want), got); diff != "" {
					t.Errorf("%s(%s) (-want +got):\n%s", c.name, c.args, diff)
				}
			})
		}
	}
}

// checkModuleError checks the message of a failed call, and that its place is the author's. CEL finds wrong types before.
func checkModuleError(t *testing.T, language string, err error, want string) {
	t.Helper()
	var failed *engines.Error
	switch {
	case !errors.As(err, &failed) || !strings.HasPrefix(failed.Location.File, "sync."):
		t.Fatalf("error %v, want one with %q, at a place of the author's", err, want)
	case language == "CEL" && failed.Kind == engines.Invalid:
	case !strings.Contains(failed.Message, want):
		t.Fatalf("error %v, want one with %q", err, want)
	}
}

// TestModule runs the functions for requests and conditions in all languages.
func TestModule(t *testing.T) {
	runModuleCases(t, map[string]moduleCase{
		"GroupKeyCore":  {reason: "the core group has no name", name: "groupKey", args: `["v1", "Pod"]`, want: `"Pod.v1"`},
		"GroupKeyNamed": {reason: "others have one", name: "groupKey", args: `["apps/v1", "Deployment"]`, want: `"Deployment.apps/v1"`},

		"KeyOfItself":      {reason: "without a parent an object's key is what it says", name: "childKey", args: `[` + web + `]`, want: `"a/web"`},
		"KeyOfNone":        {reason: "so does one in no namespace", name: "childKey", args: `[` + bare + `]`, want: `"web"`},
		"KeyV2":            {reason: "v2 is what new hooks have", name: "childKey", args: `[` + web + `, ` + inA + `]`, want: `"a/web"`},
		"KeyInherits":      {reason: "a child may leave its namespace out", name: "childKey", args: `[` + bare + `, ` + inA + `]`, want: `"a/web"`},
		"KeyEmpty":         {reason: "an empty namespace is none", name: "childKey", args: `[{"metadata": {"namespace": "", "name": "web"}}, ` + inA + `]`, want: `"a/web"`},
		"KeyV1":            {reason: "v1 is relative to the parent", name: "childKey", args: `[` + web + `, ` + inA + `, "v1"]`, want: `"web"`},
		"KeyV1Inherits":    {reason: "also before it is written", name: "childKey", args: `[` + bare + `, ` + inA + `, "v1"]`, want: `"web"`},
		"KeyV1Cluster":     {reason: "unless that is in no namespace", name: "childKey", args: `[` + web + `, ` + inNone + `, "v1"]`, want: `"a/web"`},
		"KeyClusterChild":  {reason: "the key of a child in no namespace is its name", name: "childKey", args: `[` + bare + `, ` + inNone + `, "v2"]`, want: `"web"`},
		"KeyNoParent":      {reason: "null is no parent", name: "childKey", args: `[` + web + `, null, "v1"]`, want: `"a/web"`},
		"KeyOddVersion":    {reason: "a slip must not choose keys", name: "childKey", args: `[` + web + `, ` + inA + `, "V1"]`, fails: `childKey: version is "V1", want "v1" or "v2"`},
		"ObjectsByKey":     {reason: "the order is that of the keys", name: "objectsOf", args: `[` + groups + `, "v1", "Pod"]`, want: `[1, 3, 2]`},
		"ObjectsNone":      {reason: "an empty group is an empty list", name: "objectsOf", args: `[` + groups + `, "apps/v1", "Deployment"]`, want: `[]`},
		"ObjectsNoGroup":   {reason: "a slip must not look like having none", name: "objectsOf", args: `[` + groups + `, "v1", "Deployment"]`, fails: `objectsOf: there is no group Deployment.v1, only [Deployment.apps/v1, Pod.v1]`},
		"Owner":            {reason: "the owner is the controller", name: "ownerName", args: `[{"metadata": {"ownerReferences": [{"name": "a"}, {"name": "b", "controller": true}]}}]`, want: `"b"`},
		"OwnerNone":        {reason: "not everything has one", name: "ownerName", args: `[` + web + `]`, want: `null`},
		"OwnerNoneManages": {reason: "other owners don't count", name: "ownerName", args: `[{"metadata": {"ownerReferences": [{"name": "a", "controller": false}]}}]`, want: `null`},

		"Condition":          {reason: "conditions are found by their type", name: "findCondition", args: `[` + ready + `, "Ready"]`, want: `{"type": "Ready", "status": "True"}`},
		"ConditionMissing":   {reason: "there may be none", name: "findCondition", args: `[` + ready + `, "Gone"]`, want: `null`},
		"ConditionNoStatus":  {reason: "nor a status", name: "findCondition", args: `[` + web + `, "Ready"]`, want: `null`},
		"ConditionNull":      {reason: "nor an object", name: "findCondition", args: `[null, "Ready"]`, want: `null`},
		"ConditionNoList":    {reason: "null is no list", name: "findCondition", args: `[{"status": {"conditions": null}}, "Ready"]`, want: `null`},
		"True":               {reason: "True is true", name: "isConditionTrue", args: `[` + ready + `, "Ready"]`, want: `true`},
		"False":              {reason: "False is not", name: "isConditionTrue", args: `[` + ready + `, "Other"]`, want: `false`},
		"NotTrue":            {reason: "nor is what is not there", name: "isConditionTrue", args: `[` + web + `, "Ready"]`, want: `false`},
		"SetFirst":           {reason: "no list is an empty one", name: "setCondition", args: `[null, {"type": "A", "status": "True"}, "now"]`, want: `[{"type": "A", "status": "True", "lastTransitionTime": "now"}]`},
		"SetKeepsTime":       {reason: "nothing has changed but why", name: "setCondition", args: `[[` + condition + `], {"type": "Ready", "status": "True", "message": "m"}, "now"]`, want: `[{"type": "Ready", "status": "True", "message": "m", "lastTransitionTime": "then"}]`},
		"SetChangesTime":     {reason: "the status has changed", name: "setCondition", args: `[[` + condition + `], {"type": "Ready", "status": "False", "lastTransitionTime": "x"}, "now"]`, want: `[{"type": "Ready", "status": "False", "lastTransitionTime": "now"}]`},
		"SetInPlace":         {reason: "lists that move are differences", name: "setCondition", args: `[[{"type": "A", "status": "True"}, ` + condition + `, {"type": "B", "status": "True"}], {"type": "Ready", "status": "False"}, "now"]`, want: `[{"type": "A", "status": "True"}, {"type": "Ready", "status": "False", "lastTransitionTime": "now"}, {"type": "B", "status": "True"}]`},
		"SetAtEnd":           {reason: "what is new comes last", name: "setCondition", args: `[[` + condition + `], {"type": "A", "status": "True"}, "now"]`, want: `[` + condition + `, {"type": "A", "status": "True", "lastTransitionTime": "now"}]`},
		"SetWithoutTime":     {reason: "there is no clock in Jsonnet", name: "setCondition", args: `[[` + condition + `], {"type": "Ready", "status": "False"}]`, want: `[{"type": "Ready", "status": "False"}]`},
		"SetGivesTime":       {reason: "a condition without a time gets one", name: "setCondition", args: `[[{"type": "A", "status": "True"}], {"type": "A", "status": "True"}, "now"]`, want: `[{"type": "A", "status": "True", "lastTransitionTime": "now"}]`},
		"SelectorNull":       {reason: "no selector selects nothing, as in Kubernetes", name: "matchesLabels", args: `[null, {"a": "b"}]`, want: `false`},
		"SelectorNoLabels":   {reason: "null labels are none", name: "matchesLabels", args: `[{"matchLabels": {"a": "b"}}, null]`, want: `false`},
		"SelectorNotInNone":  {reason: "and are in no list", name: "matchesLabels", args: `[{"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, null]`, want: `true`},
		"SelectorOperator":   {reason: "an operator is one of four", name: "matchesLabels", args: `[{"matchExpressions": [{"key": "a", "operator": "in", "values": ["b"]}]}, {"a": "b"}]`, fails: `matchesLabels: matchExpressions[0].operator is "in", want In, NotIn, Exists or DoesNotExist`},
		"Ordinal":            {reason: "as a StatefulSet numbers its pods", name: "ordinalOf", args: `["web-12", "web"]`, want: `12`},
		"OrdinalZero":        {reason: "from 0", name: "ordinalOf", args: `["web-0", "web"]`, want: `0`},
		"OrdinalPadded":      {reason: "another name than web-1", name: "ordinalOf", args: `["web-01", "web"]`, want: `null`},
		"OrdinalOther":       {reason: "another set's", name: "ordinalOf", args: `["web-a-1", "web"]`, want: `null`},
		"OrdinalNone":        {reason: "no number", name: "ordinalOf", args: `["web-", "web"]`, want: `null`},
		"OrdinalItself":      {reason: "no number either", name: "ordinalOf", args: `["web", "web"]`, want: `null`},
		"OrdinalNegative":    {reason: "a dash more", name: "ordinalOf", args: `["web--1", "web"]`, want: `null`},
		"OrdinalHuge":        {reason: "more than a number holds", name: "ordinalOf", args: `["web-12345678901", "web"]`, want: `null`},
		"OrdinalOtherDigits": {reason: "digits of other scripts are none", name: "ordinalOf", args: `["web-١", "web"]`, want: `null`},
	})
}

// TestModuleErrors calls the same functions with arguments that they are not for.
func TestModuleErrors(t *testing.T) {
	const noCondition = `want an object with type and status, which are strings`
	runModuleCases(t, map[string]moduleCase{
		"GroupKeyNull":       {reason: "null is no kind", name: "groupKey", args: `["v1", null]`, fails: `groupKey: kind is null, want a non-empty string`},
		"GroupKeyObject":     {reason: "nor is an object a version", name: "groupKey", args: `[{"kind": "Pod"}, "Pod"]`, fails: `groupKey: apiVersion is {"kind":"Pod"}, want a non-empty string`},
		"KeyNull":            {reason: "what is not there has no key", name: "childKey", args: `[null]`, fails: `childKey: child is null, want an object with metadata.name`},
		"KeyNameless":        {reason: "nor what has no name", name: "childKey", args: `[{"metadata": {}}]`, fails: `childKey: child is {"metadata":{}}, want an object with metadata.name`},
		"KeyParentName":      {reason: "a name is no parent", name: "childKey", args: `[` + bare + `, "p"]`, fails: `childKey: parent is "p", want an object or null`},
		"ObjectsOfList":      {reason: "groups are an object", name: "objectsOf", args: `[[], "v1", "Pod"]`, fails: `objectsOf: groups is [], want children, attachments, outputs or related`},
		"ObjectsOfParent":    {reason: "a group is one too", name: "objectsOf", args: `[{"Pod.v1": 1}, "v1", "Pod"]`, fails: `objectsOf: groups["Pod.v1"] is 1, want an object`},
		"ObjectsOfNoKind":    {reason: "null is no kind", name: "objectsOf", args: `[` + groups + `, "v1", null]`, fails: `objectsOf: kind is null, want a non-empty string`},
		"FindChildInParent":  {reason: "a request is not its children", name: "findChild", args: `[null, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, ` + inA + `]`, fails: `findChild: groups is null, want children, attachments, outputs or related`},
		"FindChildParent":    {reason: "a name is no parent", name: "findChild", args: `[` + groups + `, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, "p"]`, fails: `findChild: parent is "p", want an object or null`},
		"OwnerOfNull":        {reason: "null has no owner", name: "ownerName", args: `[null]`, fails: `ownerName: object is null, want an object with metadata`},
		"OwnerOfSpec":        {reason: "nor has a part of an object", name: "ownerName", args: `[{"replicas": 1}]`, fails: `ownerName: object is {"replicas":1}, want an object with metadata`},
		"OwnerOddList":       {reason: "references are a list", name: "ownerName", args: `[{"metadata": {"ownerReferences": "web"}}]`, fails: `ownerName: metadata.ownerReferences is "web", want a list`},
		"ConditionOfText":    {reason: "a name is no object", name: "findCondition", args: `["web", "Ready"]`, fails: `findCondition: object is "web", want an object or null`},
		"ConditionOfList":    {reason: "nor are the conditions alone", name: "isConditionTrue", args: `[[], "Ready"]`, fails: `isConditionTrue: object is [], want an object or null`},
		"ConditionNoType":    {reason: "a slip must not look like false", name: "isConditionTrue", args: `[` + ready + `, null]`, fails: `isConditionTrue: type is null, want a string`},
		"ConditionOddType":   {reason: "nor like none", name: "findCondition", args: `[` + ready + `, 1]`, fails: `findCondition: type is 1, want a string`},
		"ConditionsMap":      {reason: "custom kinds may have other conditions", name: "findCondition", args: `[{"status": {"conditions": {"Ready": "True"}}}, "Ready"]`, want: `null`},
		"ConditionsTexts":    {reason: "in a list too", name: "isConditionTrue", args: `[{"status": {"conditions": ["Ready", null, {"status": "True"}, {"type": "Ready", "status": "True"}]}}, "Ready"]`, want: `true`},
		"StatusText":         {reason: "and another status", name: "findCondition", args: `[{"status": "Ready"}, "Ready"]`, want: `null`},
		"SetInObject":        {reason: "conditions are a list, not the status", name: "setCondition", args: `[{"conditions": []}, {"type": "A", "status": "True"}]`, fails: `setCondition: conditions is {"conditions":[]}, want a list or null`},
		"SetNull":            {reason: "null is no condition", name: "setCondition", args: `[[], null]`, fails: `setCondition: condition is null, ` + noCondition},
		"SetTyped":           {reason: "a condition has a type", name: "setCondition", args: `[[], {"status": "True"}]`, fails: `setCondition: condition is {"status":"True"}, ` + noCondition},
		"SetBoolean":         {reason: "its status is a text, or the API server refuses it", name: "setCondition", args: `[[], {"type": "A", "status": true}]`, fails: `setCondition: condition is {"status":true,"type":"A"}, ` + noCondition},
		"SetNumber":          {reason: "a time is a text too", name: "setCondition", args: `[[], {"type": "A", "status": "True"}, 5]`, fails: `setCondition: now is 5, want a string or null`},
		"SetAmong":           {reason: "what is no condition stays", name: "setCondition", args: `[[null, "x"], {"type": "A", "status": "True"}]`, want: `[null, "x", {"type": "A", "status": "True"}]`},
		"SelectorText":       {reason: "a text is no selector", name: "matchesLabels", args: `["app=web", {}]`, fails: `matchesLabels: selector is "app=web", want an object with matchLabels and matchExpressions, or null`},
		"SelectorOfService":  {reason: "labels alone would match everything", name: "matchesLabels", args: `[{"app": "web"}, {"app": "db"}]`, fails: `matchesLabels: selector is {"app":"web"}, want an object with matchLabels and matchExpressions, or null`},
		"SelectorLabels":     {reason: "labels are an object", name: "matchesLabels", args: `[{}, ["a"]]`, fails: `matchesLabels: labels is ["a"], want an object or null`},
		"SelectorMatch":      {reason: "those that match too", name: "matchesLabels", args: `[{"matchLabels": ["a"]}, {}]`, fails: `matchesLabels: matchLabels is ["a"], want an object`},
		"SelectorExpression": {reason: "expressions are a list", name: "matchesLabels", args: `[{"matchExpressions": {"key": "a"}}, {}]`, fails: `matchesLabels: matchExpressions is {"key":"a"}, want a list`},
		"SelectorItem":       {reason: "of objects", name: "matchesLabels", args: `[{"matchExpressions": ["a"]}, {}]`, fails: `matchesLabels: matchExpressions[0] is "a", want an object with key and operator`},
		"SelectorNoKey":      {reason: "which have a key", name: "matchesLabels", args: `[{"matchExpressions": [{"operator": "Exists"}]}, {}]`, fails: `matchesLabels: matchExpressions[0] is {"operator":"Exists"}, want an object with key and operator`},
		"SelectorValues":     {reason: "a part of a text is not in it", name: "matchesLabels", args: `[{"matchExpressions": [{"key": "a", "operator": "In", "values": "web"}]}, {"a": "we"}]`, fails: `matchesLabels: matchExpressions[0].values is "web", want a list`},
		"OrdinalOfNothing":   {reason: "an empty name has none", name: "ordinalOf", args: `["", "web"]`, want: `null`},
		"OrdinalOfNull":      {reason: "null is no name", name: "ordinalOf", args: `[null, "web"]`, fails: `ordinalOf: name is null, want a string`},
		"OrdinalOfObject":    {reason: "nor is an object its name", name: "ordinalOf", args: `[` + web + `, "web"]`, fails: `ordinalOf: name is {"metadata":{"name":"web","namespace":"a"}}, want a string`},
		"OrdinalNoBase":      {reason: "it would find none", name: "ordinalOf", args: `["web-1", 1]`, fails: `ordinalOf: base is 1, want a string`},
		"OrdinalsOfNames":    {reason: "names are no objects", name: "wantedOrdinals", args: `[["web-0"], "web", 1]`, fails: `wantedOrdinals: objects[0] is "web-0", want an object with metadata.name`},
	})
}

// TestHash checks that both languages have the same hashes, which must never change: objects in clusters
// have them.
func TestHash(t *testing.T) {
	cases := map[string]struct{ reason, value, want string }{
		"Null":     {"any JSON has a hash", `null`, "74234e98afe7498f"},
		"Empty":    {"an empty object is not null", `{}`, "44136fa355b3678a"},
		"Keys":     {"their order is none", `{"b": [true, false], "a": {"d": null, "c": ""}}`, ""},
		"Unicode":  {"keys are ordered by their UTF-8, not by their UTF-16", `{"\ufffd": 1, "\ud83d\ude00": 2, "é": 3, "~": 4}`, ""},
		"Escapes":  {"one way to write each character", `"<>&\"\\/\b\f\n\r\t\u0000\u001f\u007f\u0085\u2028\u2029\ud83d\ude00"`, ""},
		"Integers": {"whole numbers have all their digits", `[0, 1, -1, 1e3, 9007199254740991, 4611686018427387904, 1e21, 1e22, 123456789012345680000, 1e300]`, ""},
		"Rounded":  {"whole numbers beyond 2^53 are those of JavaScript and Jsonnet", `[9007199254740993, 9223372036854775807]`, ""},
		"Decimals": {"the fewest digits that give the number again", `[0.1, 0.5, -2.5, 1e-7, 5e-324, 1.7976931348623157e308, 0.30000000000000004, 123456.789, 1e-6]`, ""},
		"Template": {"what it is for", `{"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx:1.29", "ports": [{"containerPort": 80}]}]}}`, "b0bbe4795cb56766"},
	}
	javaScript, jsonnet := moduleCaller(t, "JavaScript"), moduleCaller(t, "Jsonnet")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			args := []any{parsed(t, c.value)}
			one, err := javaScript("hash", args)
			other, otherErr := jsonnet("hash", args)
			env.NoError(t, errors.Join(err, otherErr))
			if one != other || len(one.(string)) != 16 {
				t.Errorf("hash of %s: %v in JavaScript, %v in Jsonnet, want the same 16 digits", c.value, one, other)
			}
			if c.want != "" && one != c.want {
				t.Errorf("hash of %s: %v, want %s", c.value, one, c.want)
			}
		})
	}
}

// TestSelectors checks matchesLabels against Kubernetes' selectors.
func TestSelectors(t *testing.T) {
	selectors := []string{
		`{}`, `{"matchLabels": {}}`, `{"matchLabels": {"a": "1"}}`, `{"matchLabels": {"a": "1", "b": "2"}}`, `{"matchExpressions": []}`,
		`{"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}`,
		`{"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1", "2"]}]}`,
		`{"matchExpressions": [{"key": "a", "operator": "Exists"}]}`,
		`{"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}`,
		`{"matchLabels": {"b": "2"}, "matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "a", "operator": "NotIn", "values": ["2"]}]}`,
	}
	sets := []string{`{}`, `{"a": "1"}`, `{"a": "2"}`, `{"a": "3"}`, `{"a": ""}`, `{"b": "2"}`, `{"a": "1", "b": "2"}`, `{"a": "2", "b": "2", "toString": "x"}`}
	for language := range moduleScripts {
		call := moduleCaller(t, language)
		for _, selector := range selectors {
			var typed metav1.LabelSelector
			env.NoError(t, utiljson.Unmarshal([]byte(selector), &typed))
			compiled, err := metav1.LabelSelectorAsSelector(&typed)
			env.NoError(t, err)
			for _, set := range sets {
				var typed labels.Set
				env.NoError(t, utiljson.Unmarshal([]byte(set), &typed))
				got, err := call("matchesLabels", []any{parsed(t, selector), parsed(t, set)})
				if want := compiled.Matches(typed); err != nil || got != want {
					t.Errorf("%s: %s on %s: %v, %v, want %v", language, selector, set, got, err, want)
				}
			}
		}
	}
}
