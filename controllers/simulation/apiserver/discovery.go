package apiserver

import (
	"cmp"
	"maps"
	"net/http"
	"runtime"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
)

// gitVersion is the version of the API whose types are served.
const gitVersion = "v1.36.3+libretto"

func (*Server) serverVersion(*http.Request) (any, error) {
	return apimachineryversion.Info{
		Major: "1", Minor: "36", GitVersion: gitVersion, GitTreeState: "clean", GoVersion: runtime.Version(), Compiler: runtime.Compiler,
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}, nil
}

// all returns the resources, by group, version and name.
func (s *Server) all() []*resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.SortedFunc(maps.Values(s.resources), func(a, b *resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), apimachineryversion.CompareKubeAwareVersionStrings(b.Version, a.Version),
			cmp.Compare(a.GroupVersionResource.Resource, b.GroupVersionResource.Resource))
	})
}

func (*Server) apiVersions(*http.Request) (any, error) {
	return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}, nil
}

func (s *Server) groupList(*http.Request) (any, error) {
	return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: s.groups()}, nil
}

func (s *Server) group(r *http.Request) (any, error) {
	for _, group := range s.groups() {
		if group.Name == r.PathValue("group") {
			group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			return group, nil
		}
	}
	return nil, notFound(http.MethodGet)
}

func (s *Server) groups() []metav1.APIGroup {
	var groups []metav1.APIGroup
	for _, r := range s.all() {
		version := metav1.GroupVersionForDiscovery{GroupVersion: r.GroupVersion().String(), Version: r.Version}
		switch last := len(groups) - 1; {
		case r.Group == "":
		case last < 0 || groups[last].Name != r.Group:
			groups = append(groups, metav1.APIGroup{
				Name: r.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
			})
		case !slices.Contains(groups[last].Versions, version):
			groups[last].Versions = append(groups[last].Versions, version)
		}
	}
	return groups
}

var (
	allVerbs    = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	statusVerbs = metav1.Verbs{"get", "patch", "update"}
)

func (s *Server) resourceList(request *http.Request) (any, error) {
	gv := groupVersionOf(request)
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for _, r := range s.all() {
		if r.GroupVersion() == gv {
			list.APIResources = append(list.APIResources, r.discovered()...)
		}
	}
	if len(list.APIResources) == 0 {
		return nil, notFound(http.MethodGet)
	}
	return list, nil
}

// discovered returns the resource and its subresources as discovery lists them.
func (r *resource) discovered() []metav1.APIResource {
	own := metav1.APIResource{
		Name: r.GroupVersionResource.Resource, SingularName: r.singular, Namespaced: r.Namespaced, Kind: r.Kind.Kind, Verbs: allVerbs,
		ShortNames: r.shortNames, Categories: r.categories,
	}
	if r.review != nil {
		own.Verbs = metav1.Verbs{"create"}
	}
	list := []metav1.APIResource{own}
	add := func(name string, kind schema.GroupVersionKind, verbs ...string) {
		list = append(list, metav1.APIResource{
			Name: own.Name + "/" + name, Namespaced: r.Namespaced, Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Verbs: verbs,
		})
	}
	if r.HasStatus {
		add("status", schema.GroupVersionKind{Kind: r.Kind.Kind}, statusVerbs...)
	}
	if r.scale != nil {
		add("scale", scaleKind, statusVerbs...)
	}
	if own.Name == "serviceaccounts" {
		add("token", tokenKind, "create")
	}
	return list
}
