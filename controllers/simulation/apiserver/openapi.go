package apiserver

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// document is the OpenAPI document of a group and version, which is made when it is first asked for.
type document struct {
	version int64 // With each change of its resources it is another.
	text    []byte
}

// serveOpenAPI answers a request for OpenAPI documents of version 3: for the index or for one of them.
func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request, path []string) {
	if path[0] != "v3" {
		writeError(w, notFound(r.Method))
		return
	}
	if len(path) == 1 {
		writeJSON(w, http.StatusOK, map[string]any{"paths": s.openAPIIndex()})
		return
	}
	gv := schema.GroupVersion{Version: path[len(path)-1]}
	if path[1] == "apis" && len(path) == 4 {
		gv.Group = path[2]
	} else if path[1] != "api" || len(path) != 3 {
		writeError(w, notFound(r.Method))
		return
	}
	text, err := s.openAPI(gv)
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // The client may be gone.
}

// apiPath returns the path of a group and version.
func apiPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// openAPIIndex returns where the documents are. The address of one changes with it, and from server to server: clients keep documents.
func (s *Server) openAPIIndex() map[string]any {
	paths := map[string]any{}
	for _, r := range s.all() {
		s.mu.RLock()
		version := s.documents[r.GroupVersion()].version
		s.mu.RUnlock()
		path := apiPath(r.GroupVersion())
		paths[path] = map[string]any{"serverRelativeURL": fmt.Sprintf("/openapi/v3/%s?hash=%x-%d", path, s.started, version)}
	}
	return paths
}

// openAPI returns a document.
func (s *Server) openAPI(gv schema.GroupVersion) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.documents[gv]
	if d == nil {
		return nil, notFound(http.MethodGet)
	}
	if d.text != nil {
		return d.text, nil
	}
	var resources []memcluster.Resource
	paths := map[string]any{}
	for _, r := range s.resources {
		if r.GroupVersion() == gv {
			resources = append(resources, r.Resource)
			r.addPaths(paths)
		}
	}
	text, err := objectjson.Marshal(map[string]any{
		"openapi": "3.0.0", "info": map[string]any{"title": "Kubernetes", "version": serverVersion().GitVersion}, "paths": paths,
		"components": map[string]any{"schemas": validation.Components(resources)},
	})
	d.text = text
	return text, err
}

// addPaths adds the paths of the resource, as far as clients look at them: kinds, and that writes are validated by the server.
func (r *resource) addPaths(paths map[string]any) {
	kind := map[string]any{"group": r.Kind.Group, "version": r.Kind.Version, "kind": r.Kind.Kind}
	operation := func(parameters ...string) map[string]any {
		list := []any{}
		for _, name := range parameters {
			list = append(list, map[string]any{"name": name, "in": "query", "schema": map[string]any{"type": "string"}})
		}
		return map[string]any{
			"x-kubernetes-group-version-kind": kind, "parameters": list,
			"responses": map[string]any{"200": map[string]any{"description": "OK"}},
		}
	}
	parts := []string{"", apiPath(r.GroupVersion()), r.GroupVersionResource.Resource}
	if r.Namespaced {
		parts = []string{"", parts[1], "namespaces", "{namespace}", parts[2]}
	}
	collection := strings.Join(parts, "/")
	write := []string{"dryRun", "fieldManager", "fieldValidation"}
	paths[collection] = map[string]any{"get": operation("labelSelector", "fieldSelector"), "post": operation(write...)}
	paths[collection+"/{name}"] = map[string]any{
		"get": operation(), "put": operation(write...), "patch": operation(append(write, "force")...), "delete": operation("dryRun"),
	}
}
