package apiserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-openapi/pkg/spec3"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// TestTypedClient checks what a host does with typed clients, one of which speaks protobuf.
func TestTypedClient(t *testing.T) {
	s := start(t)
	config := s.RESTConfig()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client := must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(config))
	ctx := t.Context()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"}, StringData: map[string]string{"a": "b"}}
	created := must[*corev1.Secret](t)(client.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{}))
	if string(created.Data["a"]) != "b" || !strings.HasPrefix(created.Name, "s-") || len(created.Name) != 7 {
		t.Errorf("created: %v", created)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("me")}}
	leases := client.CoordinationV1().Leases("default")
	lease = must[*coordinationv1.Lease](t)(leases.Create(ctx, lease, metav1.CreateOptions{}))
	stale := lease.DeepCopy()
	lease.Spec.HolderIdentity = new("you")
	must[*coordinationv1.Lease](t)(leases.Update(ctx, lease, metav1.UpdateOptions{}))
	if _, err := leases.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an update of an old version: %v", err)
	}
	review := must[*authorizationv1.SelfSubjectAccessReview](t)(client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
		&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"},
		}}, metav1.CreateOptions{}))
	if !review.Status.Allowed || review.Spec.ResourceAttributes.Verb != "get" {
		t.Errorf("review: %v", review)
	}
	rules := must[*authorizationv1.SelfSubjectRulesReview](t)(client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx,
		&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}, metav1.CreateOptions{}))
	if len(rules.Status.ResourceRules) != 1 || rules.Status.ResourceRules[0].Verbs[0] != "*" {
		t.Errorf("rules: %v", rules.Status)
	}
	eventually(t, func() error {
		token, err := client.CoreV1().ServiceAccounts("default").CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err == nil && (token.Status.Token == "" || token.Status.ExpirationTimestamp.Before(new(metav1.Now()))) {
			err = fmt.Errorf("token: %v", token.Status)
		}
		return err
	})
	if _, err := client.CoreV1().Pods("default").Get(ctx, "none", metav1.GetOptions{}); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `pods "none" not found`) {
		t.Errorf("error of what is not there: %v", err)
	}
	if err := client.CoreV1().Secrets("default").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

// TestMetadataClient checks the reduced representation, in a list and in a watch.
func TestMetadataClient(t *testing.T) {
	s := start(t)
	client := must[metadata.Interface](t)(metadata.NewForConfig(s.RESTConfig()))
	full := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(s.RESTConfig())).Resource(configMaps).Namespace("default")
	changes := must[watch.Interface](t)(client.Resource(configMaps).Watch(t.Context(), metav1.ListOptions{}))
	defer changes.Stop()
	must[*unstructured.Unstructured](t)(full.Create(t.Context(), configMap(t, "a", ", labels: {x: z}"), metav1.CreateOptions{}))
	event := <-changes.ResultChan()
	if seen, ok := event.Object.(*metav1.PartialObjectMetadata); !ok || event.Type != watch.Added || seen.Labels["x"] != "z" {
		t.Errorf("event: %v", event)
	}
	list := must[*metav1.PartialObjectMetadataList](t)(client.Resource(configMaps).List(t.Context(), metav1.ListOptions{LabelSelector: "x=z"}))
	if len(list.Items) != 1 || list.Items[0].Name != "a" {
		t.Errorf("list: %v", list)
	}
}

// TestInformer checks that an informer of client-go gets what is there by a watch, and then changes.
func TestInformer(t *testing.T) {
	s := start(t)
	client := must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(s.RESTConfig()))
	ctx, cancel := context.WithCancel(t.Context())
	for _, name := range []string{"a", "b"} {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps("default").Create(ctx, object, metav1.CreateOptions{}))
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	lister := factory.Core().V1().ConfigMaps().Lister()
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), factory.Core().V1().ConfigMaps().Informer().HasSynced) {
		t.Fatal("not synced")
	}
	if err := client.CoreV1().ConfigMaps("default").Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if _, err := lister.ConfigMaps("default").Get("a"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("a is there: %w", err)
		}
		_, err := lister.ConfigMaps("default").Get("b")
		return err
	})
}

// events reads the events of a watch by a raw request until one is a bookmark.
func events(t *testing.T, s *Server, path, accept string) []string {
	t.Helper()
	request := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://memory"+path, nil))
	request.Header.Set("Accept", accept)
	response, err := s.RESTConfig().Transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var seen []string
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		var event struct {
			Type   string
			Object struct {
				Metadata metav1.ObjectMeta
				Rows     []metav1.TableRow
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		text := event.Type + " " + event.Object.Metadata.Name
		for _, row := range event.Object.Rows {
			text += fmt.Sprint(row.Cells)
		}
		seen = append(seen, strings.TrimSpace(text))
		if event.Type == string(watch.Bookmark) {
			break
		}
	}
	return seen
}

// TestInitialEvents checks a watch that begins with what is there, and its bookmark.
func TestInitialEvents(t *testing.T) {
	s, client := startWithGreetings(t)
	for _, name := range []string{"b", "a"} {
		must[*unstructured.Unstructured](t)(client.Resource(greetings).Namespace("default").Create(t.Context(), greeting(t, name), metav1.CreateOptions{}))
	}
	const path = "/apis/example.com/v1/greetings?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	if diff := cmp.Diff([]string{"ADDED a", "ADDED b", "BOOKMARK"}, events(t, s, path, "application/json")); diff != "" {
		t.Error(diff)
	}
	const tables = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	if diff := cmp.Diff([]string{"ADDED [a world 1]", "ADDED [b world 1]", "BOOKMARK [ <nil> <nil>]"}, events(t, s, path, tables)); diff != "" {
		t.Error(diff)
	}
}

// TestWatchTimeout checks that a watch ends when it is to.
func TestWatchTimeout(t *testing.T) {
	s := start(t)
	client := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(s.RESTConfig()))
	changes := must[watch.Interface](t)(client.Resource(configMaps).Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: new(int64(1))}))
	select {
	case _, isOpen := <-changes.ResultChan():
		if isOpen {
			t.Error("there was an event")
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on")
	}
}

// TestPages checks that pages are consistent, and what lists of versions that are not there are answered.
func TestPages(t *testing.T) {
	s := start(t)
	at := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(s.RESTConfig())).Resource(configMaps).Namespace("default")
	for i := range 5 {
		must[*unstructured.Unstructured](t)(at.Create(t.Context(), configMap(t, fmt.Sprintf("c%d", i), ""), metav1.CreateOptions{}))
	}
	var names, versions []string
	options := metav1.ListOptions{Limit: 2}
	for pages := 0; pages == 0 || options.Continue != ""; pages++ {
		list := must[*unstructured.UnstructuredList](t)(at.List(t.Context(), options))
		for _, item := range list.Items {
			names = append(names, item.GetName())
		}
		if pages == 0 {
			if left := list.GetRemainingItemCount(); left == nil || *left != 3 {
				t.Errorf("remaining: %v", left)
			}
			if err := at.Delete(t.Context(), "c1", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
		options.Continue = list.GetContinue()
		versions = append(versions, list.GetResourceVersion())
	}
	if diff := cmp.Diff([]string{"c0", "c1", "c2", "c3", "c4"}, names); diff != "" {
		t.Error(diff)
	}
	if len(slices.Compact(versions)) != 1 {
		t.Errorf("versions of the pages: %v", versions)
	}
	_, err := at.List(t.Context(), metav1.ListOptions{ResourceVersion: "1", ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("an old version: %v", err)
	}
	if _, err = at.List(t.Context(), metav1.ListOptions{ResourceVersion: "99999"}); !apierrors.IsTimeout(err) {
		t.Errorf("a version to come: %v", err)
	}
	if _, err := at.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "99999"}); !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from a version of an earlier server: %v", err)
	}
	list := must[*unstructured.UnstructuredList](t)(at.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=c3"}))
	if len(list.Items) != 1 {
		t.Errorf("by name: %v", list.Items)
	}
}

// TestOpenAPI checks that client-go and the host can read the documents, and that the address of one changes with it.
func TestOpenAPI(t *testing.T) {
	s, _ := startWithGreetings(t)
	client := must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(s.RESTConfig()))
	index := must[[]byte](t)(client.Discovery().RESTClient().Get().AbsPath("/openapi/v3").Do(t.Context()).Raw())
	root := openapi3.NewRoot(client.Discovery().OpenAPIV3())
	for _, gv := range must[[]schema.GroupVersion](t)(root.GroupVersions()) {
		must[*spec3.OpenAPI](t)(root.GVSpec(gv))
	}
	if old, err := client.Discovery().OpenAPISchema(); err != nil || old.GetDefinitions() != nil {
		t.Errorf("version 2 is there, and has no kinds: %v, %v", old, err)
	}
	text := must[[]byte](t)(client.Discovery().RESTClient().Get().AbsPath("/openapi/v3/apis/apps/v1").Do(t.Context()).Raw())
	kinds := must[map[schema.GroupVersionKind]*openapi.Kind](t)(openapi.Parse(text))
	deployment := kinds[schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}]
	containers := deployment.Root.Field("spec").Field("template").Field("spec").Field("containers")
	if containers.Relation != openapi.Map || !slices.Equal(containers.Keys, []string{"name"}) {
		t.Errorf("containers are merged as %v by %v", containers.Relation, containers.Keys)
	}
	ports := containers.Items.Field("ports")
	if !slices.Equal(ports.Keys, []string{"containerPort", "protocol"}) {
		t.Errorf("ports are merged by %v", ports.Keys)
	}
	s.serve(s.find(greetings))
	if after := must[[]byte](t)(client.Discovery().RESTClient().Get().AbsPath("/openapi/v3").Do(t.Context()).Raw()); string(after) == string(index) {
		t.Error("the index is the same")
	}
}

// TestPaths checks paths that are not about objects, and that others are not found.
func TestPaths(t *testing.T) {
	s := start(t)
	for path, want := range map[string]int{
		"/readyz": 200, "/version": 200, "/api": 200, "/api/v1": 200, "/apis": 200, "/apis/apps": 200, "/apis/apps/v1": 200, "/apis/none": 404,
		"/apis/none/v1": 404, "/apis/apps/v1/none": 404, "/none": 404, "/": 404, "/api/v1/namespaces/default/nodes": 404,
		"/api/v1/namespaces/default/pods/a/log": 404, "/openapi/v3/none": 404,
	} {
		request := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://memory"+path, nil))
		response, err := s.RESTConfig().Transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		body := must[[]byte](t)(io.ReadAll(response.Body))
		if response.Body.Close(); response.StatusCode != want {
			t.Errorf("%s: %d %s", path, response.StatusCode, body)
		}
	}
}

// TestMalformedBodies checks that what is no object, or not that of the request, is refused, and stores nothing.
func TestMalformedBodies(t *testing.T) {
	s, client := startWithGreetings(t)
	at := client.Resource(greetings).Namespace("default")
	before := must[*unstructured.Unstructured](t)(at.Create(t.Context(), greeting(t, "a"), metav1.CreateOptions{}))
	must[*unstructured.Unstructured](t)(client.Resource(configMaps).Namespace("default").Create(t.Context(), configMap(t, "c", ""), metav1.CreateOptions{}))
	const (
		collection = "/apis/example.com/v1/namespaces/default/greetings"
		one        = collection + "/a"
		builtIn    = "/api/v1/namespaces/default/configmaps/c"
		merge      = "application/merge-patch+json"
		strategic  = "application/strategic-merge-patch+json"
		operations = "application/json-patch+json"
		apply      = "application/apply-patch+yaml"
	)
	for _, tc := range []struct{ method, path, kind, body string }{
		{"POST", collection, "", ``}, {"POST", collection, "", `null`}, {"POST", collection, "", `[]`}, {"POST", collection, "", `{`},
		{"POST", collection, "", `{"metadata": "x"}`}, {"POST", collection, "", `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}`},
		{"POST", collection, "", `{"metadata": {"name": "b", "namespace": "other"}, "spec": {"who": "x"}}`},
		{"POST", collection, "", `{"metadata": {"name": "B C"}, "spec": {"who": "x"}}`},
		{"POST", collection, "", `{"metadata": {"name": "b", "ownerReferences": ["x"]}, "spec": {"who": "x"}}`},
		{"POST", collection, "", `{"metadata": {"name": "b", "labels": {"a": 1}}, "spec": {"who": "x"}}`},
		{"POST", collection, "application/vnd.kubernetes.protobuf", "k8s\x00x"}, {"POST", collection, "application/yaml", "a: b: c"},
		{"PUT", one, "", `{"metadata": {"name": "b"}}`}, {"PUT", one, "", `{"metadata": {"name": "a"}, "spec": []}`},
		{"PATCH", one, "text/plain", `{}`}, {"PATCH", one, merge, `[`}, {"PATCH", one, merge, `{"metadata": null}`},
		{"PATCH", one, merge, `{"metadata": {"name": "b"}}`}, {"PATCH", one, merge, `{"metadata": {"uid": "b"}}`}, {"PATCH", one, merge, `[]`},
		{"PATCH", one, operations, `[{"op": "replace", "path": "/spec", "value": 1}]`}, {"PATCH", one, operations, `{}`},
		{"PATCH", one, operations, `[{"op": "remove", "path": "/metadata"}]`}, {"PATCH", one, apply, `x`}, {"PATCH", one, apply, `[]`},
		{"PATCH", one, apply, `{"apiVersion": "v1", "kind": "Pod"}`}, {"PATCH", one + "/scale", merge, `{"spec": {"replicas": "x"}}`},
		{"PUT", one + "/scale", "", `[]`}, {"DELETE", one, "", `[]`}, {"POST", one, "", `{}`}, {"PUT", collection, "", `{}`},
		{"DELETE", one + "/scale", "", `{"spec": {"replicas": 0}}`}, {"POST", one + "/scale", "", `{"spec": {"replicas": 0}}`},
		{"GET", "/api/v1/namespaces/default/serviceaccounts/default/token", "", `{}`},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "", `[]`},
		{"PATCH", builtIn, merge, `{"metadata": null}`}, {"PATCH", builtIn, merge, `{"metadata": {"name": "b"}}`}, {"PUT", builtIn, "", `{"data": 1}`},
		{"PATCH", builtIn, operations, `[{"op": "remove", "path": "/metadata"}]`}, {"PATCH", builtIn, strategic, `{"metadata": {"name": "b"}}`},
		{"PATCH", builtIn, strategic, `{"data": [{"$patch": "x"}]}`}, {"PATCH", builtIn, merge, `{"data": {"a": null, "b": 1}}`},
	} {
		request := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), tc.method, "http://memory"+tc.path+"?fieldManager=x",
			strings.NewReader(tc.body)))
		request.Header.Set("Content-Type", tc.kind)
		response, err := s.RESTConfig().Transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		body := must[[]byte](t)(io.ReadAll(response.Body))
		if response.Body.Close(); response.StatusCode < 400 || response.StatusCode >= 500 {
			t.Errorf("%s %s %s %q: %d %s", tc.method, tc.path, tc.kind, tc.body, response.StatusCode, body)
		}
	}
	list := must[*unstructured.UnstructuredList](t)(at.List(t.Context(), metav1.ListOptions{}))
	if len(list.Items) != 1 || !cmp.Equal(before.Object["spec"], list.Items[0].Object["spec"]) || list.Items[0].GetUID() != before.GetUID() {
		t.Errorf("stored: %v", list.Items)
	}
}
