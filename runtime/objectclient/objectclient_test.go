package objectclient

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func configMap() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "b"},
		"data": map[string]any{"text": "<1>\n", "number": int64(1), "float": 1.5},
	}}
}

// received is a request as the server got it.
type received struct {
	Method, URL, ContentType, UserAgent string
	Accept                              string
	Body                                any
}

// serve starts a server that answers every request by a code and a text, and returns what it received.
func serve(t *testing.T, code int, answer string) (*rest.Config, *[]received) {
	t.Helper()
	var all []received
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got := received{
			Method: r.Method, URL: r.URL.String(), ContentType: r.Header.Get("Content-Type"), UserAgent: r.UserAgent(),
			Accept: r.Header.Get("Accept"),
		}
		if len(text) > 0 {
			if err := json.Unmarshal(text, &got.Body); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		all = append(all, got)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, UserAgent: "test"}, &all
}

// newClients returns client-go's dynamic client and ours.
func newClients(t testing.TB, config *rest.Config) (dynamic.Interface, Clients) {
	t.Helper()
	theirs, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return theirs, ours
}

// requests are what the host sends, with what each returns.
var requests = map[string]struct {
	metadata bool // The answer that is asked for.
	send     func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error)
}{
	"Create": {true, func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return at.Create(ctx, configMap(), metav1.CreateOptions{FieldManager: "m"})
	}},
	"Update": {true, func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return at.Update(ctx, configMap(), metav1.UpdateOptions{FieldManager: "m"})
	}},
	"Apply": {true, func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		force := true
		return at.Patch(ctx, "a", types.ApplyPatchType, []byte(`{"data": null}`), metav1.PatchOptions{FieldManager: "m", Force: &force})
	}},
	"Merge": {false, func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return at.Patch(ctx, "a", types.MergePatchType, []byte(`{"data": null}`), metav1.PatchOptions{FieldManager: "m"})
	}},
	"Get": {false, func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return at.Get(ctx, "a", metav1.GetOptions{})
	}},
	"Delete": {false, func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		uid, propagation := types.UID("u"), metav1.DeletePropagationBackground
		return nil, at.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &propagation})
	}},
}

// TestRequests checks that the clients send what client-go's dynamic client does, but for what they ask for.
func TestRequests(t *testing.T) {
	for name, tc := range requests {
		t.Run(name, func(t *testing.T) {
			config, all := serve(t, http.StatusOK, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`)
			theirs, ours := newClients(t, config)
			for _, client := range []dynamic.Interface{theirs, ours.Full, ours.Metadata} {
				if _, err := tc.send(t.Context(), client.Resource(configMaps).Namespace("b")); err != nil {
					t.Fatal(err)
				}
			}
			want := (*all)[0]
			if diff := cmp.Diff(want, (*all)[1]); diff != "" {
				t.Errorf("the full client: -want +got\n%s", diff)
			}
			if tc.metadata {
				want.Accept = acceptMetadata
			}
			if diff := cmp.Diff(want, (*all)[2]); diff != "" {
				t.Errorf("the metadata client: -want +got\n%s", diff)
			}
		})
	}
}

// TestAnswers checks that the clients return what client-go's dynamic client does.
func TestAnswers(t *testing.T) {
	cases := map[string]struct {
		reason string
		code   int
		answer string
	}{
		"Full": {"an API server may return all", 200, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"n": 1, "f": 1.0}}`},
		"Metadata": {"or metadata", 201, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","uid":"u",
			"resourceVersion":"7","generation":3,"ownerReferences":[{"uid":"p","controller":true}]}}`},
		"Conflict": {"a status", 409, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409, "message": "newer"}`},
		"Exists":   {"the reason counts", 409, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "AlreadyExists", "code": 409}`},
		"Invalid":  {"causes are kept", 422, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422, "details": {"causes": [{"field": "data"}]}}`},
		"Text":     {"a proxy may answer", 502, `bad gateway`},
		"NoObject": {"not an object", 200, `[]`},
		"NoJSON":   {"not JSON", 200, `{"kind":"PartialObjectMetadata",`},
		"Empty":    {"nothing", 200, ``},
		"None":     {"no content", 204, ``},
		"Null":     {"no object", 200, `null`},
		"NoKind":   {"an object of no kind", 200, `{"metadata": {"name": "a"}}`},
		"Table":    {"another kind than was asked for", 200, `{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": [{"cells": ["a", 1]}]}`},
		"Success":  {"a status may say that all is well", 200, `{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": {"name": "a"}}`},
		"Failed":   {"a status with the code of success", 200, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422}`},
		"Other":    {"an error that is no status", 500, `{"kind": "Problem", "apiVersion": "v1", "message": "no"}`},
		"Large":    {"an error page of 1 MiB", 500, strings.Repeat("<p>sorry</p>", 1<<20/12)},
		"Odd":      {"a status with a field of another type", 409, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": "409"}`},
		"Redirect": {"not followed without a place", 301, ``},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config, _ := serve(t, tc.code, tc.answer)
			theirs, ours := newClients(t, config)
			want, wantErr := theirs.Resource(configMaps).Namespace("b").Create(t.Context(), configMap(), metav1.CreateOptions{})
			for _, client := range []dynamic.Interface{ours.Full, ours.Metadata} {
				got, err := client.Resource(configMaps).Namespace("b").Create(t.Context(), configMap(), metav1.CreateOptions{})
				if (err == nil) != (wantErr == nil) || apierrors.ReasonForError(err) != apierrors.ReasonForError(wantErr) {
					t.Fatalf("%s: error %v, want %v", tc.reason, err, wantErr)
				}
				if diff := cmp.Diff(statusOf(wantErr), statusOf(err)); diff != "" {
					t.Errorf("%s: -want +got\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: -want +got\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// TestServerWithoutMetadata checks that a server that knows only plain JSON, and refuses what asks for nothing that it has, is
// asked for that too, in the same request.
func TestServerWithoutMetadata(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if !slices.Contains(strings.Split(r.Header.Get("Accept"), ","), "application/json") {
			w.WriteHeader(http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`)
	}))
	t.Cleanup(server.Close)
	clients, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	got, err := clients.Metadata.Resource(configMaps).Namespace("b").Create(t.Context(), configMap(), metav1.CreateOptions{})
	if err != nil || got.GetKind() != "ConfigMap" || requests != 1 {
		t.Errorf("after %d requests it returned %v, error %v", requests, got, err)
	}
}

// statusOf returns what an error says, if it is the API server's.
func statusOf(err error) metav1.Status {
	if status, ok := err.(apierrors.APIStatus); ok {
		return status.Status()
	}
	return metav1.Status{}
}

// BenchmarkCreate measures one creation, from the object to the answer.
func BenchmarkCreate(b *testing.B) {
	answer := `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"7",` +
		`"creationTimestamp":"2026-01-01T00:00:00Z","ownerReferences":[{"apiVersion":"v1","kind":"P","name":"p","uid":"p","controller":true}],` +
		`"managedFields":[{"manager":"libretto","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1",` +
		`"fieldsV1":{"f:data":{".":{},"f:text":{}},"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"p\"}":{}}}}}]}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	b.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	theirs, ours := newClients(b, config)
	object := configMap()
	for name, client := range map[string]dynamic.Interface{"dynamic": theirs, "metadata": ours.Metadata} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.Resource(configMaps).Namespace("b").Create(b.Context(), object, metav1.CreateOptions{FieldManager: "m"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
