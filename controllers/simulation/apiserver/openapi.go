package apiserver

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
)

// openAPIV2 is the format of the OpenAPI document of version 2. It is an empty message, without kinds: kubectl asks for it if version 3
// does not have the kind of a file, and says that there is no such kind if this one does not have it either.
const openAPIV2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

// apiPath returns the path of a group and version.
func apiPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// openAPIIndex returns where the OpenAPI documents of version 3 are. The address of one changes with it, and from server to server: clients
// keep documents.
func (s *Server) openAPIIndex(*http.Request) (any, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	paths := map[string]any{}
	for _, r := range s.resources {
		path := apiPath(r.GroupVersion())
		paths[path] = map[string]any{
			"serverRelativeURL": fmt.Sprintf("/openapi/v3/%s?hash=%x-%d", path, s.started, s.changed[r.GroupVersion()]),
		}
	}
	return map[string]any{"paths": paths}, nil
}

// document returns the document of a group and version.
func (s *Server) document(request *http.Request) (any, error) {
	gv := groupVersionOf(request)
	var resources []memcluster.Resource
	paths := map[string]any{}
	for _, r := range s.all() {
		if r.GroupVersion() == gv {
			resources = append(resources, r.Resource)
			r.addPaths(paths)
		}
	}
	if len(resources) == 0 {
		return nil, notFound(http.MethodGet)
	}
	return map[string]any{
		"openapi": "3.0.0", "info": map[string]any{"title": "Kubernetes", "version": gitVersion}, "paths": paths,
		"components": map[string]any{"schemas": validation.Components(resources)},
	}, nil
}

// addPaths adds the paths of the resource, as far as clients look at them: its kind, and that writes are validated by the server.
func (r *resource) addPaths(paths map[string]any) {
	operation := func(parameters ...string) map[string]any {
		list := []any{}
		for _, name := range parameters {
			list = append(list, map[string]any{"name": name, "in": "query", "schema": map[string]any{"type": "string"}})
		}
		return map[string]any{
			"x-kubernetes-group-version-kind": map[string]any{"group": r.Kind.Group, "version": r.Kind.Version, "kind": r.Kind.Kind},
			"parameters":                      list,
			"responses":                       map[string]any{"200": map[string]any{"description": "OK"}},
		}
	}
	scope := "/"
	if r.Namespaced {
		scope = "/namespaces/{namespace}/"
	}
	collection := "/" + apiPath(r.GroupVersion()) + scope + r.GroupVersionResource.Resource
	write := operation("dryRun", "fieldManager", "fieldValidation")
	paths[collection] = map[string]any{"get": operation("labelSelector", "fieldSelector"), "post": write}
	paths[collection+"/{name}"] = map[string]any{"get": operation(), "put": write, "patch": write, "delete": operation("dryRun")}
}
