package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// request is a request for objects.
type request struct {
	*http.Request
	server      *Server
	resource    *resource
	namespace   string
	name        string // Empty for a collection.
	subresource string
	accept      representation
}

// Handler returns the API as a handler of HTTP requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/readyz", "/livez"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }) // The client may be gone.
	}
	for path, read := range map[string]func(*http.Request) (any, error){
		"/version": s.serverVersion, "/openapi/v3": s.openAPIIndex, "/openapi/v3/api/{version}": s.document,
		"/openapi/v3/apis/{group}/{version}": s.document, "/api": s.apiVersions, "/api/{version}": s.resourceList, "/apis": s.groupList,
		"/apis/{group}": s.group, "/apis/{group}/{version}": s.resourceList,
	} {
		handle := func(w http.ResponseWriter, r *http.Request) {
			value, err := read(r)
			if err != nil {
				writeError(w, err)
				return
			}
			writeJSON(w, http.StatusOK, value)
		}
		mux.HandleFunc(path, handle)
		mux.HandleFunc(path+"/{$}", handle)
	}
	mux.HandleFunc("/openapi/v2", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", openAPIV2) })
	mux.HandleFunc("/api/{version}/{path...}", s.serveResource)
	mux.HandleFunc("/apis/{group}/{version}/{path...}", s.serveResource)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { writeError(w, notFound(r.Method)) })
	return mux
}

// groupVersionOf returns the group and version that the path of a request has.
func groupVersionOf(r *http.Request) schema.GroupVersion {
	return schema.GroupVersion{Group: r.PathValue("group"), Version: r.PathValue("version")}
}

// notFound returns the error for a path that is not served.
func notFound(method string) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, method, schema.GroupResource{}, "", "404 page not found", 0, true)
}

// serveResource answers a request for objects.
func (s *Server) serveResource(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimSuffix(r.PathValue("path"), "/"), "/")
	q := &request{Request: r, server: s, accept: accepted(r.Header.Get("Accept"))}
	if path[0] == "namespaces" && len(path) > 2 && path[2] != "status" && path[2] != "finalize" {
		q.namespace, path = path[1], path[2:]
	}
	q.resource = s.find(groupVersionOf(r).WithResource(path[0]))
	if len(path) > 1 {
		q.name = path[1]
	}
	if len(path) > 2 {
		q.subresource = path[2]
	}
	isAcross := q.name == "" && q.namespace == "" && r.Method != http.MethodPost // It may be all namespaces.
	if q.resource == nil || len(path) > 3 || q.resource.Namespaced != (q.namespace != "") && !isAcross {
		writeError(w, notFound(r.Method))
		return
	}
	if err := q.serve(w); err != nil {
		writeError(w, err)
	}
}

// handlers answer requests of a method. They write nothing if they return an error.
type handlers map[string]func(*request, http.ResponseWriter) error

var (
	objectHandlers = handlers{
		http.MethodGet: (*request).serveGet, http.MethodPut: (*request).serveUpdate, http.MethodPatch: (*request).servePatch,
		http.MethodDelete: (*request).serveDelete,
	}
	collectionHandlers = handlers{
		http.MethodGet: (*request).serveList, http.MethodPost: (*request).serveCreate, http.MethodDelete: (*request).serveDeleteCollection,
	}
	scaleHandlers = handlers{
		http.MethodGet: (*request).serveScale, http.MethodPut: (*request).serveScale, http.MethodPatch: (*request).serveScale,
	}
	reviewHandlers = handlers{http.MethodPost: (*request).serveReview}
	tokenHandlers  = handlers{http.MethodPost: (*request).serveToken}
)

// serve answers the request. It writes nothing if it returns an error.
func (q *request) serve(w http.ResponseWriter) error {
	handlers := objectHandlers
	switch {
	case q.resource.review != nil:
		handlers = reviewHandlers
	case q.subresource == "scale" && q.resource.scale != nil:
		handlers = scaleHandlers
	case q.subresource == "token" && q.resource.GroupVersionResource.Resource == "serviceaccounts":
		handlers = tokenHandlers
	case q.subresource == "finalize" && q.resource.isNamespace() && q.Method == http.MethodPut:
		q.subresource = ""
	case q.subresource != "" && (q.subresource != "status" || !q.resource.HasStatus):
		return notFound(q.Method)
	case q.name == "":
		handlers = collectionHandlers
	}
	if handle := handlers[q.Method]; handle != nil {
		return handle(q, w)
	}
	return apierrors.NewMethodNotSupported(q.resource.GroupResource(), strings.ToLower(q.Method))
}

// endpoint returns the endpoint of a client for the request.
func (q *request) endpoint(client dynamic.Interface) dynamic.ResourceInterface {
	if !q.resource.Namespaced || q.namespace == "" {
		return client.Resource(q.resource.GroupVersionResource)
	}
	return client.Resource(q.resource.GroupVersionResource).Namespace(q.namespace)
}

// body returns the body as JSON. It may be YAML, or of protobuf for a built-in type.
func body(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	switch kind := r.Header.Get("Content-Type"); {
	case strings.HasPrefix(kind, runtime.ContentTypeProtobuf):
		object, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		object.GetObjectKind().SetGroupVersionKind(*gvk)
		return json.Marshal(object)
	case strings.Contains(kind, "yaml"):
		if text, err = yaml.YAMLToJSON(text); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	return text, nil
}

// object returns the object that is sent, with the kind and the namespace of the request.
func (q *request) object() (*unstructured.Unstructured, error) {
	text, err := body(q.Request)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := kubejson.Unmarshal(text, &object.Object); err != nil || object.Object == nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the body is no object: %v", err))
	}
	if _, isObject := object.Object["metadata"].(map[string]any); !isObject {
		object.Object["metadata"] = map[string]any{}
	}
	if object.GetAPIVersion() == "" && object.GetKind() == "" {
		object.SetGroupVersionKind(q.resource.Kind)
	}
	switch namespace := object.GetNamespace(); {
	case namespace == "":
		object.SetNamespace(q.namespace)
	case namespace != q.namespace:
		return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return object, nil
}

// writeJSON writes a value as the answer.
func writeJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(code)
	_ = objectjson.Write(w, value) // Its error is that of a client that is gone.
}

// writeError writes a Status as the answer.
func writeError(w http.ResponseWriter, err error) {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	writeJSON(w, int(status.Code), status)
}
