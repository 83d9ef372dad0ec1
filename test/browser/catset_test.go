package browser

import (
	"fmt"
	"time"
)

// served and edited are the script of the CatSet before and after an edit that would delete half of its Pods.
const served = `// A StatefulSet of cats: Pods with stable names, started one by one.
export function sync({ parent, children }) {
  const pods = children["Pod.v1"];
  const replicas = parent.spec.replicas ?? 1;
  const desired = [];
  for (let i = 0; i < replicas; i++) {
    const name = ` + "`${parent.metadata.name}-${i}`" + `;
    desired.push(pod(parent, name));
    if (!isReady(pods[name])) break;
  }
  return {
    status: { replicas: Object.keys(pods).length },
    children: desired,
  };
}

function pod(parent, name) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: parent.metadata.name } },
    spec: parent.spec.template.spec,
  };
}

function isReady(pod) {
  if (!pod) return false;
  const conditions = pod.status?.conditions ?? [];
  return conditions.some((c) => c.type === "Ready" && c.status === "True");
}
`

const edited = `// A StatefulSet of cats: Pods with stable names, started one by one.
export function sync({ parent, children }) {
  const pods = children["Pod.v1"];
  const replicas = Math.floor((parent.spec.replicas ?? 1) / 2);
  const desired = [];
  for (let i = 0; i < replicas; i++) {
    const name = ` + "`${parent.metadata.name}-${i}`" + `;
    desired.push(pod(parent, name));
  }
  return {
    status: { replicas: Object.keys(pods).length, desired: replicas },
    children: desired,
  };
}

function pod(parent, name) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: parent.metadata.name, leader: String(name.endsWith("-0")) } },
    spec: parent.spec.template.spec,
  };
}

function isReady(pod) {
  if (!pod) return false;
  const conditions = pod.status?.conditions ?? [];
  return conditions.some((c) => c.type === "Ready" && c.status === "True");
}
`

const greeting = `apiVersion: ctl.example.com/v1
kind: CatSet
metadata: {namespace: default, name: tabby}
spec:
  replicas: 3
  serviceName: cats
  template: {spec: {containers: [{name: cat, image: "busybox:1.36"}]}}
`

const tested = `# libretto test examples/catset
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
definition: controller.yaml
cases:
- name: Pods start one by one
  want:
    counts: {Pod: 1}
- name: all Pods in the end
  want:
    counts: {Pod: 3}
`

var events = object{"items": []object{
	{"type": "Normal", "reason": "Created", "message": "Created Pod tabby-2", "count": 1, "lastTimestamp": "2026-11-30T09:41:07Z",
		"metadata": object{"name": "a"}, "involvedObject": object{"uid": "catset-tabby"}},
	{"type": "Warning", "reason": "SyncFailed", "message": "hook sync: sync.js:17: parent.spec.template is undefined", "count": 4,
		"lastTimestamp": "2026-11-30T09:41:05Z", "metadata": object{"name": "b"}, "involvedObject": object{"uid": "catset-tabby"}},
}}

func definition() object {
	return sent("ADDED", "definition", "ready", "", "", newObject("metacontroller.k8s.io/v1alpha1", "CompositeController", "catset", object{
		"spec": object{
			"parentResource": object{"apiVersion": "ctl.example.com/v1", "resource": "catsets"},
			"childResources": []object{{"apiVersion": "v1", "resource": "pods"}, {"apiVersion": "v1", "resource": "services"}},
			"scriptSources":  []object{{"configMap": object{"namespace": "default", "name": "catset-hooks"}}},
			"hooks":          object{"sync": object{"version": "v2", "script": object{"path": "sync.js"}}},
		},
		"status": object{"scriptRevision": "8d1f0c2b7a9e4f35", "parents": 2, "syncedParents": 2},
	}))
}

func catSet(name string, replicas int) object {
	return newObject("ctl.example.com/v1", "CatSet", name, object{
		"spec": object{"replicas": replicas, "serviceName": "cats", "template": object{"spec": object{"containers": []object{
			{"name": "cat", "image": "busybox:1.36", "args": []string{"sh", "-c", "while true; do\n  echo meow\n  sleep 1\ndone\n"}}}}}},
		"status": object{"replicas": replicas, "readyReplicas": replicas - 1},
	})
}

func pod(set string, i int) object {
	o := newObject("v1", "Pod", fmt.Sprintf("%s-%d", set, i), object{
		"spec":   object{"containers": []object{{"name": "cat", "image": "busybox:1.36"}}},
		"status": object{"phase": "Running"},
	})
	o["metadata"].(object)["labels"] = object{"app": set}
	return o
}

func crd() object {
	o := sent("ADDED", "crd", "ready", "", "", newObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "catsets.ctl.example.com",
		object{
			"spec": object{"group": "ctl.example.com", "scope": "Namespaced", "names": object{"kind": "CatSet", "plural": "catsets"},
				"versions": []object{{"name": "v1", "served": true, "storage": true}}},
		}))
	o["object"].(object)["definition"] = ""
	return o
}

// catsets is a small folder: two parents, with children in each state.
func catsets() []object {
	messages := []object{crd(), definition(),
		sent("ADDED", "parent", "waiting", "waits for Pod tabby-2 to become ready", "", catSet("tabby", 4)),
		sent("ADDED", "parent", "failing", "hook sync: sync.js:17: parent.spec.template is undefined", "", catSet("siamese", 3)),
	}
	states := []struct{ set, state, message string }{
		{"tabby", "ready", ""}, {"tabby", "ready", ""}, {"tabby", "waiting", "containers with unready status: [cat]"},
		{"siamese", "ready", ""}, {"siamese", "failing", "CrashLoopBackOff: back-off restarting failed container"}, {"siamese", "deleting",
			"finalizer example.com/volume"},
	}
	numbers := map[string]int{}
	for _, s := range states {
		messages = append(messages, sent("ADDED", "child", s.state, s.message, "catset-"+s.set, pod(s.set, numbers[s.set])))
		numbers[s.set]++
	}
	for _, set := range []string{"siamese", "tabby"} {
		messages = append(messages, sent("ADDED", "child", "ready", "", "catset-"+set, newObject("v1", "Service", set,
			object{"spec": object{"clusterIP": "None"}})))
	}
	messages = append(messages, object{"files": []object{
		{"path": "sync.js", "text": edited}, {"path": "catset_test.yaml",
			"text": tested},
		{"path": "catset.yaml", "text": greeting},
	}}, object{"problems": []string{}})
	for i := range 40 {
		messages = append(messages, passMessage(i+1))
	}
	for i, text := range []string{"starting tabby-0", "tabby-0 is ready", "starting tabby-1", "scaling from 3 to 4"} {
		messages = append(messages, object{"log": object{"time": at(i * 300), "definition": "CompositeController catset", "hook": "sync",
			"parent": "default/tabby", "text": text}})
	}
	return append(messages, testsMessage(), object{"synced": true})
}

func at(millis int) string {
	return start.Add(time.Duration(millis) * time.Millisecond).Format(time.RFC3339Nano)
}

func passMessage(id int) object {
	set := []string{"siamese", "tabby", "tabby"}[id%3]
	p := object{"id": id, "time": at(id * 137), "durationMillis": 0.6 + float64((id*37)%23)/3, "definition": "CompositeController catset",
		"parent": object{"apiVersion": "ctl.example.com/v1", "kind": "CatSet", "namespace": "default", "name": set, "uid": "catset-" + set},
		"hooks":  []string{"sync"}, "writes": []object{}, "error": ""}
	switch {
	case id%9 == 5:
		p["error"] = "hook sync: sync.js:17: parent.spec.template is undefined"
	case id%4 == 0 || id == 1:
		p["writes"] = []object{{"verb": "create", "kind": "Pod", "namespace": "default", "name": fmt.Sprintf("%s-%d", set, id%5)},
			{"verb": "update status", "kind": "CatSet", "namespace": "default", "name": set}}
	}
	return object{"pass": p}
}

// passDetail is a pass that creates a Pod, changes another, deletes a third and writes the status.
func passDetail(id int) object {
	p := passMessage(id)["pass"].(object)
	parent, before := catSet("tabby", 4), pod("tabby", 1)
	after := pod("tabby", 1)
	after["metadata"].(object)["labels"] = object{"app": "tabby", "leader": "false"}
	parentAfter := catSet("tabby", 4)
	parentAfter["status"] = object{"replicas": 4, "readyReplicas": 4}
	p["calls"] = []object{{"hook": "sync", "subject": "", "request": object{
		"controller": object{"kind": "CompositeController", "metadata": object{"name": "catset"}}, "parent": parent,
		"children": object{"Pod.v1": object{"tabby-0": pod("tabby", 0), "tabby-1": before}, "Service.v1": object{}}, "finalizing": false},
		"response": object{"status": object{"replicas": 4}, "children": []object{pod("tabby", 0), after, pod("tabby", 2)}},
		"reads":    []string{"parent.spec", "parent.metadata.name", "children"}, "logs": []string{"starting tabby-2"}, "error": ""}}
	p["writes"] = []object{
		{"verb": "create", "kind": "Pod", "namespace": "default", "name": "tabby-2", "error": "", "before": nil, "after": pod("tabby", 2)},
		{"verb": "update", "kind": "Pod", "namespace": "default", "name": "tabby-1", "error": "", "before": before, "after": after},
		{"verb": "delete", "kind": "Pod", "namespace": "default", "name": "tabby-7", "error": "", "before": pod("tabby", 7), "after": nil},
		{"verb": "update status", "kind": "CatSet", "namespace": "default", "name": "tabby", "error": "", "before": parent, "after": parentAfter},
	}
	return p
}

func testsMessage() object {
	coverage := object{}
	for line, kind := range map[int]string{3: "covered", 4: "partial", 5: "covered", 6: "covered", 7: "covered", 8: "covered", 10: "covered",
		11: "covered", 12: "covered",
		17: "covered", 18: "covered", 19: "covered", 20: "covered", 21: "covered", 26: "uncovered", 27: "uncovered", 28: "uncovered"} {
		coverage[fmt.Sprint(line)] = kind
	}
	return object{"tests": object{"running": false, "problems": []string{}, "coverage": object{"sync.js": coverage}, "cases": []object{
		{"file": "catset_test.yaml", "line": 6, "name": "Pods start one by one", "passed": true, "failure": ""},
		{"file": "catset_test.yaml", "line": 9, "name": "all Pods in the end", "passed": false,
			"failure": "counts differ (-want +got):\n- Pod: 3\n+ Pod: 1\nchildren are:\n  Pod/tabby-0\n  Service/cats"},
	}}}
}

func heldEdit() object {
	return object{"edit": object{"definition": "CompositeController catset", "revision": "c41e77d09ab3526e", "held": true,
		"reason":  "Destructive",
		"message": "3 of 5 children of 2 parents would be deleted, the first is Pod default/siamese-1 of CatSet default/siamese",
		"commands": []string{"libretto rollout approve catset",
			"kubectl annotate --overwrite cc catset metacontroller.k8s.io/approved-revision=c41e77d09ab3526e"}}}
}

func counterexample() object {
	return object{"failure": "the end differs (-case +path):\n- Pod/tabby-1\n+ nothing", "steps": []object{
		{"title": "CatSet tabby is created", "writes": []object{}, "objects": []object{catSet("tabby", 3)}},
		{"title": "pass: Pod tabby-0 is created", "writes": []object{{"verb": "create", "kind": "Pod", "namespace": "default", "name": "tabby-0",
			"after": pod("tabby", 0)}},
			"objects": []object{catSet("tabby", 3), pod("tabby", 0)}},
		{"title": "the response to the creation of Pod tabby-1 is lost", "writes": []object{{"verb": "create", "kind": "Pod",
			"namespace": "default", "name": "tabby-1",
			"error": "Timeout", "after": pod("tabby", 1)}}, "objects": []object{catSet("tabby", 3), pod("tabby", 0), pod("tabby", 1)}},
		{"title": "pass: Pod tabby-1 is deleted", "writes": []object{{"verb": "delete", "kind": "Pod", "namespace": "default", "name": "tabby-1",
			"before": pod("tabby", 1)}},
			"objects": []object{catSet("tabby", 3), pod("tabby", 0)}},
	}}
}
