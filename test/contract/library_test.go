package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/test/env"
)

const (
	longName = `"a-name-that-is-much-longer-than-any-label-or-pod-of-kubernetes-may-be"`
	inShop   = `{"metadata": {"name": "web", "namespace": "shop"}}`
	mapA     = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`
	mapB     = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}`
	claimA   = `{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}}`
	jobA     = `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}`
)

// TestNames runs the functions for names and labels.
func TestNames(t *testing.T) {
	runModuleCases(t, map[string]moduleCase{
		"ChildShort":       {reason: "a short name stays readable", name: "childName", args: `["web", "config"]`, want: `"web-config"`},
		"ChildOrdinal":     {reason: "a number is a suffix too", name: "childName", args: `["web", 0]`, want: `"web-0"`},
		"ChildItself":      {reason: "without a suffix it is the name", name: "childName", args: `["web"]`, want: `"web"`},
		"ChildEmptySuffix": {reason: "an empty suffix is none", name: "childName", args: `["web", ""]`, want: `"web"`},
		"ChildFits":        {reason: "63 characters are not too many", name: "childName", args: `["` + strings.Repeat("a", 61) + `", "b"]`, want: `"` + strings.Repeat("a", 61) + `-b"`},
		"ChildCut":         {reason: "a long name keeps its suffix", name: "childName", args: `[` + longName + `, "config"]`, want: `"a-name-that-is-much-longer-than-any-label-or-po-ed3ec4f9-config"`},
		"ChildCutAlone":    {reason: "and gets a hash without one", name: "childName", args: `[` + longName + `]`, want: `"a-name-that-is-much-longer-than-any-label-or-pod-of-ku-ed3ec4f9"`},
		"ChildCutAtDash":   {reason: "no two dashes and no dot before one", name: "childName", args: `["aaaaaaaaaaaa.-bbbbbbbbbbbbbbb", "c", 24]`, want: `"aaaaaaaaaaaa-edef243f-c"`},
		"ChildLongSuffix":  {reason: "a suffix that leaves no room is cut", name: "childName", args: `["web", "` + strings.Repeat("s", 70) + `"]`, want: `"web-` + strings.Repeat("s", 50) + `-dca159b3"`},
		"ChildMaximum":     {reason: "a CronJob may have 52", name: "childName", args: `[` + longName + `, "daily", 52]`, want: `"a-name-that-is-much-longer-than-any-l-ed3ec4f9-daily"`},
		"ChildNoBase":      {reason: "an undefined name must not become one", name: "childName", args: `[null, "a"]`, fails: `childName: base is null, want a name`},
		"ChildOddSuffix":   {reason: "nor an object", name: "childName", args: `["web", {"a": 1}]`, fails: `childName: suffix is {"a":1}, want a string or a whole number`},
		"ChildOddMaximum":  {reason: "a hash needs room", name: "childName", args: `["web", "a", 10]`, fails: `childName: maxLength is 10, want a whole number from 24 to 253`},
		"Hashed":           {reason: "what is named by its content", name: "hashedName", args: `["web", {"a": "1"}]`, want: `"web-9afeb0f2b2"`},
		"HashedOther":      {reason: "has another name with another content", name: "hashedName", args: `["web", {"a": "2"}]`, want: `"web-d1c5b45e23"`},
		"HashedLong":       {reason: "within the length of names", name: "hashedName", args: `[` + longName + `, 1]`, want: `"a-name-that-is-much-longer-than-any-label-o-ed3ec4f9-6b86b273ff"`},
		"HashedNoBase":     {reason: "a name is needed", name: "hashedName", args: `["", 1]`, fails: `hashedName: base is "", want a name`},

		"Recommended":        {reason: "all that there are", name: "recommendedLabels", args: `[{"name": "a", "instance": "b", "version": "c", "component": "d", "partOf": "e", "managedBy": "f"}]`, want: `{"app.kubernetes.io/name": "a", "app.kubernetes.io/instance": "b", "app.kubernetes.io/version": "c", "app.kubernetes.io/component": "d", "app.kubernetes.io/part-of": "e", "app.kubernetes.io/managed-by": "f"}`},
		"RecommendedNull":    {reason: "null is not given", name: "recommendedLabels", args: `[{"name": "a", "version": null}]`, want: `{"app.kubernetes.io/name": "a"}`},
		"RecommendedLong":    {reason: "names of objects are longer than labels", name: "recommendedLabels", args: `[{"instance": ` + longName + `}]`, want: `{"app.kubernetes.io/instance": "a-name-that-is-much-longer-than-any-label-or-pod-of-ku-ed3ec4f9"}`},
		"RecommendedOdd":     {reason: "a slip is reported", name: "recommendedLabels", args: `[{"partof": "a"}]`, fails: `recommendedLabels: there is no option partof, only [component, instance, managedBy, name, partOf, version]`},
		"RecommendedNumber":  {reason: "a label is a text", name: "recommendedLabels", args: `[{"version": 2}]`, fails: `recommendedLabels: version is 2, want a non-empty string`},
		"RecommendedNothing": {reason: "options are an object", name: "recommendedLabels", args: `["web"]`, fails: `recommendedLabels: options is "web", want an object with name, instance, version, component, partOf, managedBy`},

		"WithLabels":         {reason: "others stay, and the object too", name: "withLabels", args: `[{"kind": "A", "metadata": {"name": "a", "labels": {"b": "1", "c": "1"}}, "spec": {"d": 1}}, {"c": "2"}]`, want: `{"kind": "A", "metadata": {"name": "a", "labels": {"b": "1", "c": "2"}}, "spec": {"d": 1}}`},
		"WithLabelsFirst":    {reason: "it may have had none", name: "withLabels", args: `[{"metadata": {"name": "a"}}, {"c": "2"}]`, want: `{"metadata": {"name": "a", "labels": {"c": "2"}}}`},
		"WithLabelsTemplate": {reason: "Pods get them, selectors can't", name: "withLabels", args: `[{"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"a": "1"}}, "template": {"metadata": {"labels": {"a": "1"}}, "spec": {}}}}, {"c": "2"}]`, want: `{"metadata": {"name": "a", "labels": {"c": "2"}}, "spec": {"selector": {"matchLabels": {"a": "1"}}, "template": {"metadata": {"labels": {"a": "1", "c": "2"}}, "spec": {}}}}`},
		"WithLabelsNone":     {reason: "none are no change", name: "withLabels", args: `[{"metadata": {"name": "a", "labels": {"a": "1"}}}, null]`, want: `{"metadata": {"name": "a", "labels": {"a": "1"}}}`},
		"WithLabelsNumber":   {reason: "labels are texts", name: "withLabels", args: `[{"metadata": {"name": "a"}}, {"c": 2}]`, fails: `withLabels: labels["c"] is 2, want a string`},
		"WithLabelsNoObject": {reason: "there must be something to label", name: "withLabels", args: `[null, {"c": "2"}]`, fails: `withLabels: object is null, want an object`},

		"Merge":        {reason: "objects merge, lists and null replace", name: "merge", args: `[{"a": {"b": 1, "c": [1]}, "d": 1, "e": {"f": 1}}, {"a": {"c": [2], "g": {}}, "d": null, "e": 3}]`, want: `{"a": {"b": 1, "c": [2], "g": {}}, "d": null, "e": 3}`},
		"MergeOver":    {reason: "an object takes the place of what is none", name: "merge", args: `[{"a": 1, "b": null}, {"a": {"c": 1}, "b": {"c": 1}}]`, want: `{"a": {"c": 1}, "b": {"c": 1}}`},
		"MergeText":    {reason: "other values have no fields", name: "merge", args: `[{"a": 1}, "b"]`, fails: `merge: over is "b", want an object`},
		"MergeBase":    {reason: "nor here", name: "merge", args: `[[1], {}]`, fails: `merge: base is [1], want an object`},
		"MergeProto":   {reason: "no key is special", name: "merge", args: `[{"a": {"__proto__": {"b": 1}}}, {"a": {"__proto__": {"c": 1}}, "__proto__": {"d": 1}}]`, want: `{"a": {"__proto__": {"b": 1, "c": 1}}, "__proto__": {"d": 1}}`},
		"MergeInherit": {reason: "names that objects inherit are not theirs", name: "merge", args: `[{}, {"toString": {"a": 1}}]`, want: `{"toString": {"a": 1}}`},
	})
}

// TestChildNameIsValid checks names of all lengths against Kubernetes' rules.
func TestChildNameIsValid(t *testing.T) {
	call := moduleCaller(t, "JavaScript")
	seen := map[string]string{}
	for base := 1; base <= 90; base += 7 {
		for suffix := 0; suffix <= 90; suffix += 7 {
			args := []any{strings.Repeat("a-b", base)[:base] + "x", strings.Repeat("c", suffix)}
			got, err := call("childName", args)
			env.NoError(t, err)
			name := got.(string)
			if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
				t.Errorf("childName(%q): %q: %v", args, name, problems)
			}
			key := args[0].(string) + "/" + args[1].(string)
			if other, taken := seen[name]; taken {
				t.Errorf("%s and %s have the same name %q", key, other, name)
			}
			seen[name] = key
		}
	}
}

// TestConditions runs the functions that look at children.
func TestConditions(t *testing.T) {
	const (
		none    = `{"ConfigMap.v1": {}, "Job.batch/v1": {}, "PersistentVolumeClaim.v1": {}}`
		some    = `{"ConfigMap.v1": {"shop/a": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}}, "Job.batch/v1": {}, "PersistentVolumeClaim.v1": {"shop/a": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "status": {"phase": "Pending"}}}}`
		failed  = `{"ConfigMap.v1": {}, "Job.batch/v1": {"shop/a": {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}}}, "PersistentVolumeClaim.v1": {}}`
		v1      = `{"ConfigMap.v1": {"a": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y"}}}}`
		noGroup = `{"Pod.v1": {}}`
	)
	runModuleCases(t, map[string]moduleCase{
		"FindNone":     {reason: "it does not exist yet", name: "findChild", args: `[` + none + `, ` + mapA + `, ` + inShop + `]`, want: `null`},
		"FindV2":       {reason: "by namespace and name", name: "findChild", args: `[` + some + `, ` + mapA + `, ` + inShop + `]`, want: mapA},
		"FindV1":       {reason: "by name, as hooks of v1 have it", name: "findChild", args: `[` + v1 + `, ` + mapA + `, ` + inShop + `]`, want: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y"}}`},
		"FindElse":     {reason: "another namespace has another", name: "findChild", args: `[` + some + `, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "else"}}, null]`, want: `null`},
		"FindInherit":  {reason: "names that objects inherit are not theirs", name: "findChild", args: `[` + none + `, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "constructor"}}, ` + inShop + `]`, want: `null`},
		"FindNoGroup":  {reason: "a slip must not look like having none", name: "findChild", args: `[` + noGroup + `, ` + mapA + `, ` + inShop + `]`, fails: `findChild: there is no group ConfigMap.v1, only [Pod.v1]`},
		"FindOddChild": {reason: "a child has a kind", name: "findChild", args: `[` + none + `, {"metadata": {"name": "a"}}, ` + inShop + `]`, fails: `findChild: child is {"metadata":{"name":"a"}}, want an object with apiVersion, kind and metadata.name`},

		"ReadyNothing":    {reason: "nothing is missing", name: "readyCondition", args: `[` + none + `, [], ` + inShop + `]`, want: `{"type": "Ready", "status": "True", "reason": "Ready", "message": "0 of 0 ready"}`},
		"ReadyAll":        {reason: "all are there and ready", name: "readyCondition", args: `[` + some + `, [` + mapA + `], ` + inShop + `]`, want: `{"type": "Ready", "status": "True", "reason": "Ready", "message": "1 of 1 ready"}`},
		"ReadyMissing":    {reason: "what is desired and not there is not ready", name: "readyCondition", args: `[` + some + `, [` + mapA + `, ` + mapB + `], ` + inShop + `]`, want: `{"type": "Ready", "status": "False", "reason": "InProgress", "message": "1 of 2 ready; ConfigMap b: it does not exist"}`},
		"ReadyInProgress": {reason: "the host's own reason is reported", name: "readyCondition", args: `[` + some + `, [` + claimA + `], ` + inShop + `, "StorageReady"]`, want: `{"type": "StorageReady", "status": "False", "reason": "InProgress", "message": "0 of 1 ready; PersistentVolumeClaim a: phase is \"Pending\""}`},
		"ReadyFailed":     {reason: "a failure comes first", name: "readyCondition", args: `[` + failed + `, [` + mapA + `, ` + jobA + `], ` + inShop + `]`, want: `{"type": "Ready", "status": "False", "reason": "Failed", "message": "0 of 2 ready; Job a: condition Failed is True: BackoffLimitExceeded; ConfigMap a: it does not exist"}`},
		"ReadyMany":       {reason: "a message stays short", name: "readyCondition", args: `[` + none + `, [` + mapA + `, ` + mapB + `, ` + claimA + `, ` + jobA + `], ` + inShop + `]`, want: `{"type": "Ready", "status": "False", "reason": "InProgress", "message": "0 of 4 ready; ConfigMap a: it does not exist; ConfigMap b: it does not exist; PersistentVolumeClaim a: it does not exist"}`},
		"ReadyNoGroup":    {reason: "the definition must have the kind", name: "readyCondition", args: `[` + noGroup + `, [` + mapA + `], ` + inShop + `]`, fails: `readyCondition: there is no group ConfigMap.v1, only [Pod.v1]`},
		"ReadyStages":     {reason: "stages are to be flattened", name: "readyCondition", args: `[` + none + `, [` + mapA + `, [` + mapB + `]], ` + inShop + `]`, fails: `readyCondition: desired[1] is [{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}], want an object with apiVersion, kind and metadata.name`},
		"ReadyNoList":     {reason: "children are a list", name: "readyCondition", args: `[` + none + `, ` + mapA + `, ` + inShop + `]`, fails: `readyCondition: desired is {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}, want a list`},

		"IsReadyNull": {reason: "what is not there is not ready", name: "isReady", args: `[null]`, want: `false`},
		"IsReadyText": {reason: "a name is no object", name: "isReady", args: `["web"]`, fails: `isReady: object is "web", want an object of the cluster or null`},

		"NeedsNothing":  {reason: "it is there", name: "needs", args: `[{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}, "Secret shop/a"]`, want: `null`},
		"NeedsMissing":  {reason: "it is not", name: "needs", args: `[null, "Secret shop/a"]`, want: `{"waiting": {"reason": "NotFound", "message": "waits for Secret shop/a: it does not exist"}}`},
		"NeedsUnready":  {reason: "it is not ready", name: "needs", args: `[{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"completions": 2}, "status": {"succeeded": 1}}, "Job shop/a"]`, want: `{"waiting": {"reason": "NotReady", "message": "waits for Job shop/a: it is not complete: 1 of 2 have succeeded"}}`},
		"NeedsDeleted":  {reason: "it will be gone soon", name: "needs", args: `[{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}}, "Secret shop/a"]`, want: `{"waiting": {"reason": "NotReady", "message": "waits for Secret shop/a: it is being deleted"}}`},
		"NeedsWhat":     {reason: "the message has to say what", name: "needs", args: `[null, null]`, fails: `needs: what is null, want a non-empty string`},
		"NeedsText":     {reason: "a name is no object", name: "needs", args: `["a", "Secret shop/a"]`, fails: `needs: object is "a", want an object of the cluster or null`},
		"Waiting":       {reason: "any other reason", name: "waiting", args: `["NoNodes", "there are no nodes"]`, want: `{"waiting": {"reason": "NoNodes", "message": "there are no nodes"}}`},
		"WaitingReason": {reason: "reasons are words", name: "waiting", args: `["no nodes", "there are no nodes"]`, fails: `waiting: reason is "no nodes", want a word such as "SecretMissing"`},
		"WaitingWhy":    {reason: "and are explained", name: "waiting", args: `["NoNodes", ""]`, fails: `waiting: message is "", want a non-empty string`},
	})
}

// TestInOrder runs the functions that do one thing after the other.
func TestInOrder(t *testing.T) {
	const (
		pods   = `[{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0"}, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1"}, "status": {"phase": "Pending"}}]`
		third  = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-2"}, "status": {"phase": "Failed"}}`
		maps   = `[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-0"}}, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-2"}}, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-10"}}, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other-0"}}]`
		stages = `[[` + claimA + `], [` + mapA + `, ` + jobA + `], [` + mapB + `]]`
		bound  = `{"shop/a": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "status": {"phase": "Bound"}}}`
		lost   = `{"shop/a": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "status": {"phase": "Lost"}}}`
		hasA   = `{"shop/a": ` + mapA + `}`
		hasB   = `{"shop/b": ` + mapB + `}`
	)
	groups := func(claims, maps string) string {
		return `{"PersistentVolumeClaim.v1": ` + claims + `, "ConfigMap.v1": ` + maps + `, "Job.batch/v1": {}}`
	}
	runModuleCases(t, map[string]moduleCase{
		"OrdinalsNone":     {reason: "the first comes first", name: "wantedOrdinals", args: `[[], "web", 3]`, want: `[0]`},
		"OrdinalsZero":     {reason: "none are wanted", name: "wantedOrdinals", args: `[[], "web", 0]`, want: `[]`},
		"OrdinalsUnready":  {reason: "the next one waits", name: "wantedOrdinals", args: `[` + pods + `, "web", 3]`, want: `[0, 1]`},
		"OrdinalsGap":      {reason: "the lowest that is missing comes next; what exists above it stays", name: "wantedOrdinals", args: `[` + maps + `, "web", 4]`, want: `[0, 1, 2]`},
		"OrdinalsDown":     {reason: "the highest goes, in the order of numbers", name: "wantedOrdinals", args: `[` + maps + `, "web", 1]`, want: `[0, 2]`},
		"OrdinalsAllGo":    {reason: "down to none, one at a time", name: "wantedOrdinals", args: `[` + pods + `, "web", 0]`, want: `[0]`},
		"OrdinalsMany":     {reason: "no time is lost on what is far away", name: "wantedOrdinals", args: `[` + pods + `, "web", 1000000000]`, want: `[0, 1]`},
		"OrdinalsFar":      {reason: "nor on a name that has a high ordinal", name: "wantedOrdinals", args: `[[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-4000000000"}}], "web", 5000000000]`, want: `[0, 4000000000]`},
		"OrdinalsFailed":   {reason: "a failed Pod is replaced", name: "wantedOrdinals", args: `[[` + third + `], "web", 3]`, want: `[0]`},
		"OrdinalsReplicas": {reason: "a slip must delete nothing", name: "wantedOrdinals", args: `[` + pods + `, "web", null]`, fails: `wantedOrdinals: replicas is null, want a whole number from 0`},
		"OrdinalsHalf":     {reason: "there are no half Pods", name: "wantedOrdinals", args: `[` + pods + `, "web", 1.5]`, fails: `wantedOrdinals: replicas is 1.5, want a whole number from 0`},
		"OrdinalsBase":     {reason: "nor does nothing have a name", name: "wantedOrdinals", args: `[` + pods + `, null, 1]`, fails: `wantedOrdinals: base is null, want a non-empty string`},

		"StagesNone":    {reason: "the first stage is first", name: "inOrder", args: `[` + groups(`{}`, `{}`) + `, ` + stages + `, ` + inShop + `]`, want: `[` + claimA + `]`},
		"StagesSecond":  {reason: "then the second", name: "inOrder", args: `[` + groups(bound, `{}`) + `, ` + stages + `, ` + inShop + `]`, want: `[` + claimA + `, ` + mapA + `, ` + jobA + `]`},
		"StagesPart":    {reason: "all of a stage must be ready", name: "inOrder", args: `[` + groups(bound, hasA) + `, ` + stages + `, ` + inShop + `]`, want: `[` + claimA + `, ` + mapA + `, ` + jobA + `]`},
		"StagesStay":    {reason: "what exists is not deleted when an earlier stage fails", name: "inOrder", args: `[` + groups(lost, hasB) + `, ` + stages + `, ` + inShop + `]`, want: `[` + claimA + `, ` + mapB + `]`},
		"StagesEmpty":   {reason: "a stage of nothing is ready", name: "inOrder", args: `[` + groups(`{}`, `{}`) + `, [[], [` + mapA + `]], ` + inShop + `]`, want: `[` + mapA + `]`},
		"StagesNoList":  {reason: "a stage is a list", name: "inOrder", args: `[` + groups(`{}`, `{}`) + `, [` + mapA + `], ` + inShop + `]`, fails: `inOrder: stages[0] is {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}, want a list`},
		"StagesChild":   {reason: "of children", name: "inOrder", args: `[` + groups(`{}`, `{}`) + `, [[], [` + mapA + `, null]], ` + inShop + `]`, fails: `inOrder: stages[1][1] is null, want an object with apiVersion, kind and metadata.name`},
		"StagesNoGroup": {reason: "also of kinds that are not due yet", name: "inOrder", args: `[{"ConfigMap.v1": {}}, [[` + mapA + `], [` + jobA + `]], ` + inShop + `]`, fails: `inOrder: there is no group Job.batch/v1, only [ConfigMap.v1]`},

		"TearDownLast":   {reason: "the last stage goes first", name: "tearDown", args: `[` + groups(bound, hasB) + `, ` + stages + `, ` + inShop + `]`, want: `{"children": [` + claimA + `], "finalized": false}`},
		"TearDownMiddle": {reason: "and nothing is made again", name: "tearDown", args: `[` + groups(bound, hasA) + `, ` + stages + `, ` + inShop + `]`, want: `{"children": [` + claimA + `], "finalized": false}`},
		"TearDownFirst":  {reason: "then the first", name: "tearDown", args: `[` + groups(bound, `{}`) + `, ` + stages + `, ` + inShop + `]`, want: `{"children": [], "finalized": false}`},
		"TearDownDone":   {reason: "and that is all", name: "tearDown", args: `[` + groups(`{}`, `{}`) + `, ` + stages + `, ` + inShop + `]`, want: `{"children": [], "finalized": true}`},
		"TearDownNoList": {reason: "a stage is a list", name: "tearDown", args: `[` + groups(`{}`, `{}`) + `, ` + mapA + `, ` + inShop + `]`, fails: `tearDown: stages is {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}, want a list`},
	})
}

// TestIsReady compares isReady with the host's table, as the caller has objects in all languages.
func TestIsReady(t *testing.T) {
	callers := map[string]func(string, []any) (any, error){
		"JavaScript": moduleCaller(t, "JavaScript"), "Jsonnet": moduleCaller(t, "Jsonnet"), "CEL": celCaller(t),
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "apply", "readiness", "testdata", "cases.yaml"))
	env.NoError(t, err)
	asJSON, err := yaml.YAMLToJSON(text)
	env.NoError(t, err)
	cases := parsed(t, string(asJSON)).(map[string]any)
	if len(cases) < 40 {
		t.Fatalf("there are only %d cases", len(cases))
	}
	for name, c := range cases {
		object := c.(map[string]any)["object"].(map[string]any)
		want := readiness.Of(&unstructured.Unstructured{Object: object})
		for language, call := range callers {
			got, err := call("isReady", []any{object})
			if err != nil || got != (want.State == readiness.Ready) {
				t.Errorf("%s: isReady of %s is %v, %v; the host says %+v", language, name, got, err, want)
			}
			if language == "CEL" || want.State == readiness.Ready {
				continue
			}
			waits, err := call("needs", []any{object, "it"})
			env.NoError(t, err)
			message := waits.(map[string]any)["waiting"].(map[string]any)["message"]
			if message != "waits for it: "+want.Reason {
				t.Errorf("%s: needs of %s is %v, want the reason %q", language, name, waits, want.Reason)
			}
		}
	}
}
