// Package catset_test tests the CatSet's script.
package catset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type object = map[string]any

// requestState describes the objects in a request.
type requestState struct {
	replicas int64
	pods     []object
	claims   []string // By ordinal.
	edit     func(set object)
}

// answer is a summary of a response: names in order, and the numbers of the status.
type answer struct {
	Pods, Claims         []string
	Replicas, Ready, Now int64
}

func TestSync(t *testing.T) {
	program := compile(t)
	cases := map[string]struct {
		reason string
		given  requestState
		want   answer
	}{
		"Empty": {
			reason: "the first pod comes with its claim",
			given:  requestState{replicas: 3},
			want:   answer{Pods: []string{"nginx-0"}, Claims: []string{"www-nginx-0"}},
		},
		"NotReady": {
			reason: "the second pod waits for the first to be ready",
			given:  requestState{replicas: 3, pods: []object{pod(0)}, claims: []string{"0"}},
			want:   answer{Pods: []string{"nginx-0"}, Claims: []string{"www-nginx-0"}, Replicas: 1, Now: 1},
		},
		"Ready": {
			reason: "the second pod comes when the first is ready",
			given:  requestState{replicas: 3, pods: []object{pod(0, ready)}, claims: []string{"0"}},
			want:   answer{Pods: []string{"nginx-0", "nginx-1"}, Claims: []string{"www-nginx-0", "www-nginx-1"}, Replicas: 1, Ready: 1, Now: 1},
		},
		"Complete": {
			reason: "all pods stay when all are there, and pod 10 is not taken for pod 1",
			given:  requestState{replicas: 11, pods: readyPods(11)},
			want: answer{
				Pods: numberedNames("nginx-%d", 11), Claims: numberedNames("www-nginx-%d", 11),
				Replicas: 11, Ready: 11, Now: 11,
			},
		},
		"Gap": {
			reason: "a pod that is lost comes back, and those above it stay",
			given:  requestState{replicas: 3, pods: []object{pod(0, ready), pod(2, ready)}},
			want: answer{
				Pods: numberedNames("nginx-%d", 3), Claims: numberedNames("www-nginx-%d", 3),
				Replicas: 2, Ready: 2, Now: 2,
			},
		},
		"GapMustWait": {
			reason: "a pod that is lost has to wait for those below it, and those above it stay",
			given:  requestState{replicas: 3, pods: []object{pod(0), pod(2, ready)}},
			want: answer{
				Pods: []string{"nginx-0", "nginx-2"}, Claims: []string{"www-nginx-0", "www-nginx-2"},
				Replicas: 2, Ready: 1, Now: 2,
			},
		},
		"Going": {
			reason: "a pod that is being deleted is not ready, whatever its conditions say",
			given:  requestState{replicas: 2, pods: []object{pod(0, ready, deleting)}},
			want:   answer{Pods: []string{"nginx-0"}, Claims: []string{"www-nginx-0"}, Replicas: 1},
		},
		"Failed": {
			reason: "a pod that has failed goes, and its claim stays",
			given:  requestState{replicas: 2, pods: []object{pod(0, failed)}, claims: []string{"0"}},
			want:   answer{Claims: []string{"www-nginx-0"}, Replicas: 1, Now: 1},
		},
		"ScaleDown": {
			reason: "the highest pod goes first, and alone",
			given:  requestState{replicas: 1, pods: readyPods(4), claims: []string{"0", "1", "2", "3"}},
			want: answer{
				Pods: numberedNames("nginx-%d", 3), Claims: numberedNames("www-nginx-%d", 4),
				Replicas: 4, Ready: 4, Now: 1,
			},
		},
		"ScaleDownMustWait": {
			reason: "the next pod goes when the one above it has stopped",
			given:  requestState{replicas: 0, pods: []object{pod(0, ready), pod(1, ready, deleting)}, claims: []string{"0", "1"}},
			want: answer{
				Pods: []string{"nginx-0"}, Claims: []string{"www-nginx-0", "www-nginx-1"},
				Replicas: 2, Ready: 1,
			},
		},
		"ScaledDown": {
			reason: "claims outlive their pods",
			given:  requestState{claims: []string{"0", "1"}},
			want:   answer{Claims: []string{"www-nginx-0", "www-nginx-1"}},
		},
		"OtherNames": {
			reason: "a pod that was adopted by its labels and has no number goes",
			given:  requestState{pods: []object{{"metadata": object{"name": "nginx-x"}}, {"metadata": object{"name": "other-0"}}}},
			want:   answer{},
		},
		"NoClaimTemplates": {
			reason: "a set needs no claims",
			given: requestState{replicas: 1, edit: func(set object) {
				delete(set["spec"].(object), "volumeClaimTemplates")
			}},
			want: answer{Pods: []string{"nginx-0"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := summary(run(t, program, tc.given))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: sync(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestObjects(t *testing.T) {
	body := run(t, compile(t), requestState{replicas: 1, claims: []string{"0", "7"}})
	labels := object{"app": "nginx"}
	claim := object{"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
	want := object{
		"status": object{"replicas": int64(0), "readyReplicas": int64(0), "currentReplicas": int64(0), "selector": "app=nginx"},
		"children": []any{
			object{
				"apiVersion": claim["apiVersion"], "kind": claim["kind"],
				"metadata": object{"name": "www-nginx-0", "labels": labels, "annotations": object{}},
				"spec":     object{"accessModes": []any{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "1Gi"}}},
			},
			object{
				"apiVersion": claim["apiVersion"], "kind": claim["kind"],
				"metadata": object{"name": "www-nginx-7", "labels": labels},
			},
			object{
				"apiVersion": "v1", "kind": "Pod",
				"metadata": object{"name": "nginx-0", "labels": labels, "annotations": object{}},
				"spec": object{
					"terminationGracePeriodSeconds": int64(1),
					"hostname":                      "nginx-0",
					"subdomain":                     "nginx",
					"containers": []any{object{
						"name": "nginx", "image": "nginx:1.29-alpine",
						"ports":        []any{object{"name": "web", "containerPort": int64(80)}},
						"volumeMounts": []any{object{"name": "www", "mountPath": "/usr/share/nginx/html"}},
					}},
					"volumes": []any{object{"name": "www", "persistentVolumeClaim": object{"claimName": "www-nginx-0"}}},
				},
			},
		},
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("sync(...): -want, +got:\n%s", diff)
	}
}
