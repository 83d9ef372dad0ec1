package delayproxy

import (
	"net/http"
	"slices"
	"strings"
)

// request is what a rule looks at.
type request struct {
	verb, group string
	// resource is a plural, with its subresource behind a slash; empty if the request is about none.
	resource string
}

// matches reports whether the rule is about a request.
func (r Rule) matches(what request) bool {
	return (len(r.Verbs) == 0 || slices.Contains(r.Verbs, what.verb)) &&
		(len(r.Resources) == 0 || slices.Contains(r.Resources, what.resource)) &&
		(r.Group == "" || r.Group == what.group)
}

// parse reads a request as the API server does.
func parse(r *http.Request) request {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var what request
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		what.group, parts = parts[1], parts[3:]
	default:
		what.verb = strings.ToLower(r.Method)
		return what
	}
	if len(parts) > 2 && parts[0] == "namespaces" && !namespaceSubresources[parts[2]] {
		parts = parts[2:]
	}
	what.resource = parts[0]
	if len(parts) > 2 {
		what.resource += "/" + parts[2]
	}
	what.verb = verb(r, len(parts) > 1)
	return what
}

// namespaceSubresources are those of a Namespace, which look like resources in one.
var namespaceSubresources = map[string]bool{"status": true, "finalize": true}

// verb names what a request does with an object, or with all of them.
func verb(r *http.Request, named bool) string {
	watch := r.URL.Query().Get("watch")
	switch {
	case r.Method == http.MethodGet && (watch == "true" || watch == "1"):
		return "watch"
	case r.Method == http.MethodGet && !named:
		return "list"
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method == http.MethodDelete && !named:
		return "deletecollection"
	default:
		return strings.ToLower(r.Method)
	}
}
