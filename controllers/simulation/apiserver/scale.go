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
)

var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// serveScale answers a request for the number of replicas of an object.
func (q *request) serveScale(w http.ResponseWriter) error {
	object, err := q.endpoint(q.server.reader).Get(q.Context(), q.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale := q.scaleOf(object)
	if q.Method == http.MethodGet {
		writeJSON(w, http.StatusOK, scale)
		return nil
	}
	text, err := body(q.Request)
	if err != nil {
		return err
	}
	if q.Method == http.MethodPatch {
		if text, err = patchedScale(scale, text); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	next := autoscalingv1.Scale{}
	if err := json.Unmarshal(text, &next); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	object = object.DeepCopy()
	object.SetResourceVersion(next.ResourceVersion)
	if err := unstructured.SetNestedField(object.Object, int64(next.Spec.Replicas), scalePath(q.resource.scale.SpecReplicasPath)...); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	updated, err := q.endpoint(q.server.client).Update(q.Context(), object, metav1.UpdateOptions{DryRun: q.URL.Query()["dryRun"]})
	if err == nil {
		writeJSON(w, http.StatusOK, q.scaleOf(updated))
	}
	return err
}

// patchedScale returns a scale with a JSON patch or a merge patch. Of such a small object a strategic merge patch means the same.
func patchedScale(scale autoscalingv1.Scale, patch []byte) ([]byte, error) {
	scale.ResourceVersion = "" // A patch has no precondition but its own.
	text, err := json.Marshal(scale)
	if err != nil {
		return nil, err
	}
	if operations, err := jsonpatch.DecodePatch(patch); err == nil {
		return operations.Apply(text)
	}
	return jsonpatch.MergePatch(text, patch)
}

func scalePath(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

func (q *request) scaleOf(object *unstructured.Unstructured) autoscalingv1.Scale {
	of := q.resource.scale
	count := func(path string) int32 {
		n, _, _ := unstructured.NestedInt64(object.Object, scalePath(path)...)
		return int32(n)
	}
	scale := autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: scaleKind.GroupVersion().String(), Kind: scaleKind.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Name: object.GetName(), Namespace: object.GetNamespace(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
			CreationTimestamp: object.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: count(of.SpecReplicasPath)},
		Status: autoscalingv1.ScaleStatus{Replicas: count(of.StatusReplicasPath)},
	}
	if of.LabelSelectorPath != nil {
		scale.Status.Selector, _, _ = unstructured.NestedString(object.Object, scalePath(*of.LabelSelectorPath)...)
	}
	return scale
}

// review is a kind of which nothing is stored: who sends an object is answered by it.
type review struct {
	schema.GroupVersionKind
	status map[string]any
}

// allowed is the answer to each question whether something may be done.
var allowed = map[string]any{"allowed": true, "reason": "everyone may do everything in a cluster in memory"}

var reviews = reviewsOf(
	review{authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), allowed},
	review{authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"), allowed},
	review{authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview"), map[string]any{
		"incomplete":       false,
		"nonResourceRules": []any{map[string]any{"verbs": []any{"*"}, "nonResourceURLs": []any{"*"}}},
		"resourceRules":    []any{map[string]any{"verbs": []any{"*"}, "apiGroups": []any{"*"}, "resources": []any{"*"}}},
	}},
	review{authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), map[string]any{
		"userInfo": map[string]any{"username": "admin", "groups": []any{"system:masters", "system:authenticated"}},
	}},
)

func reviewsOf(all ...review) map[schema.GroupVersionResource]*review {
	byResource := map[schema.GroupVersionResource]*review{}
	for _, r := range all {
		byResource[r.GroupVersion().WithResource(strings.ToLower(r.Kind)+"s")] = &r
	}
	return byResource
}

// review answers a question with its status.
func (s *Server) review(w http.ResponseWriter, r *http.Request, kind *review) {
	q := &request{Request: r, server: s, resource: &resource{}}
	q.resource.Kind = kind.GroupVersionKind
	object, err := q.object()
	if err != nil {
		writeError(w, err)
		return
	}
	object.Object["status"] = kind.status
	writeJSON(w, http.StatusCreated, object.Object)
}

// tokenLifetime is that of tokens for which none is asked.
const tokenLifetime = time.Hour

// serveToken answers with a token for a service account. Nobody ever looks at it.
func (q *request) serveToken(w http.ResponseWriter) error {
	if _, err := q.endpoint(q.server.reader).Get(q.Context(), q.name, metav1.GetOptions{}); err != nil {
		return err
	}
	text, err := body(q.Request)
	if err != nil {
		return err
	}
	token := authenticationv1.TokenRequest{}
	if err := json.Unmarshal(text, &token); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	lifetime := tokenLifetime
	if seconds := token.Spec.ExpirationSeconds; seconds != nil {
		lifetime = time.Duration(*seconds) * time.Second
	}
	token.TypeMeta = metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "TokenRequest"}
	token.Status = authenticationv1.TokenRequestStatus{
		Token:               "system:serviceaccount:" + q.namespace + ":" + q.name,
		ExpirationTimestamp: metav1.NewTime(q.server.config.Clock.Now().Add(lifetime)),
	}
	writeJSON(w, http.StatusCreated, token)
	return nil
}
