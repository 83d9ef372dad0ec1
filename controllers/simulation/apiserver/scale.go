package apiserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

var (
	scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	tokenKind = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")
)

// serveScale answers a request for the number of replicas of an object.
func (q *request) serveScale(w http.ResponseWriter) error {
	stored, err := q.endpoint(q.server.reader).Get(q.Context(), q.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if q.Method == http.MethodGet {
		writeJSON(w, http.StatusOK, q.scaleOf(stored))
		return nil
	}
	text, err := body(q.Request)
	if err == nil && q.Method == http.MethodPatch { // Of such a small object each patch that is no list means the same.
		var before []byte
		if before, err = json.Marshal(map[string]any{"spec": q.scaleOf(stored)["spec"]}); err == nil {
			text, err = jsonpatch.MergePatch(before, text)
		}
	}
	next := autoscalingv1.Scale{}
	if err == nil {
		err = json.Unmarshal(text, &next)
	}
	object := stored.DeepCopy()
	object.SetResourceVersion(next.ResourceVersion)
	if err == nil {
		err = unstructured.SetNestedField(object.Object, int64(next.Spec.Replicas), scalePath(q.resource.scale.SpecReplicasPath)...)
	}
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	options, err := q.writeOptions()
	if err != nil {
		return err
	}
	updated, err := q.endpoint(q.server.client).Update(q.Context(), object, metav1.UpdateOptions{
		DryRun: options.DryRun, FieldManager: options.FieldManager,
	}, memcluster.ScaleSubresource)
	if err == nil {
		writeJSON(w, http.StatusOK, q.scaleOf(updated))
	}
	return err
}

func scalePath(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

func (q *request) scaleOf(object *unstructured.Unstructured) map[string]any {
	of := q.resource.scale
	count := func(path string) int64 {
		n, _, _ := unstructured.NestedInt64(object.Object, scalePath(path)...)
		return n
	}
	status := map[string]any{"replicas": count(of.StatusReplicasPath)}
	if of.LabelSelectorPath != nil {
		status["selector"], _, _ = unstructured.NestedString(object.Object, scalePath(*of.LabelSelectorPath)...)
	}
	return map[string]any{
		"apiVersion": scaleKind.GroupVersion().String(), "kind": scaleKind.Kind, "metadata": map[string]any{
			"name": object.GetName(), "namespace": object.GetNamespace(), "uid": string(object.GetUID()),
			"resourceVersion": object.GetResourceVersion(), "creationTimestamp": value(object, "metadata.creationTimestamp"),
		},
		"spec": map[string]any{"replicas": count(of.SpecReplicasPath)}, "status": status,
	}
}

// reviews returns the resources of which nothing is stored: an object that is sent is answered with a status. Everyone may do everything.
func reviews() []*resource {
	of := func(kind schema.GroupVersionKind, status map[string]any) *resource {
		r := &resource{singular: strings.ToLower(kind.Kind), review: status}
		r.Kind, r.GroupVersionResource = kind, kind.GroupVersion().WithResource(r.singular+"s")
		return r
	}
	all := []any{"*"}
	return []*resource{
		of(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), map[string]any{"allowed": true}),
		of(authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"), map[string]any{"allowed": true}),
		of(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview"), map[string]any{
			"incomplete": false, "nonResourceRules": []any{map[string]any{"verbs": all, "nonResourceURLs": all}},
			"resourceRules": []any{map[string]any{"verbs": all, "apiGroups": all, "resources": all}},
		}),
		of(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), map[string]any{
			"userInfo": map[string]any{"username": "admin", "groups": []any{"system:masters", "system:authenticated"}},
		}),
	}
}

// serveReview answers with the object that is sent and its status.
func (q *request) serveReview(w http.ResponseWriter) error {
	object, err := q.object()
	if err == nil {
		object.Object["status"] = q.resource.review
		writeJSON(w, http.StatusCreated, object.Object)
	}
	return err
}

// serveToken answers with a token for a service account. Nobody ever looks at it.
func (q *request) serveToken(w http.ResponseWriter) error {
	if _, err := q.endpoint(q.server.reader).Get(q.Context(), q.name, metav1.GetOptions{}); err != nil {
		return err
	}
	token, err := q.object()
	if err != nil {
		return err
	}
	lifetime := time.Hour
	if seconds, ok := value(token, "spec.expirationSeconds").(int64); ok {
		lifetime = time.Duration(seconds) * time.Second
	}
	token.Object["status"] = map[string]any{
		"token":               "system:serviceaccount:" + q.namespace + ":" + q.name,
		"expirationTimestamp": q.server.config.Clock.Now().Add(lifetime).UTC().Format(time.RFC3339),
	}
	token.SetGroupVersionKind(tokenKind)
	writeJSON(w, http.StatusCreated, token.Object)
	return nil
}
