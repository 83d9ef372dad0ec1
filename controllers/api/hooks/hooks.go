// Package hooks describes the JSON of hooks: their requests and responses.
//
// The host does not use these types to build requests and read responses, as the objects in
// them are of any kind. The TypeScript for authors is generated from them, comments
// included, and package test/contract compares them with real requests and responses. The
// json tag of a field has its name and whether it may be absent. The tag typescript has its
// type in TypeScript if Go can't express it, and the tag parameter the type parameter that
// it needs. The fields of an embedded struct belong to the outer one.
package hooks

// ObjectKinds maps groups, such as Pod.v1, to the types of their objects.
//
//typescript:type ObjectKinds = { [group: string]: KubernetesObject }
type ObjectKinds map[string]KubernetesObject

// ObjectGroups are objects in groups by kind. The outer key is Kind.version for kinds of
// the core group, such as Pod.v1, and Kind.group/version otherwise, such as
// Deployment.apps/v1. The inner key identifies the object: with version v2 of the hook
// it is namespace/name; with version v1 it is the name alone if the parent is in a
// namespace. The key of a cluster-scoped object is its name in both.
//
//typescript:type ObjectGroups<Kinds extends object = ObjectKinds> = { [Group in keyof Kinds]: { [key: string]: Kinds[Group] } }
type ObjectGroups map[string]map[string]KubernetesObject

// RequestBase has the fields of all requests.
type RequestBase struct {
	// Controller is the definition, with an empty status.
	Controller KubernetesObject `json:"controller"`
	// Parameters are the hook's script.parameters. Only scripts get them.
	Parameters any `json:"parameters,omitempty" typescript:"Parameters" parameter:"Parameters = any"`
}

// RelatedRequestBase has the fields of all requests but that of the customize hook.
type RelatedRequestBase struct {
	// Related are the objects that the customize hook selects, in a group for each kind
	// of its rules, even if it is empty. With version v1 of the hook they are in the
	// parent's namespace, if it has one.
	Related ObjectGroups `json:"related" typescript:"ObjectGroups<Related>" parameter:"Related extends object = ObjectKinds"`
	RequestBase
}

// Waiting is why a hook can't say yet what objects there should be.
type Waiting struct {
	// Reason is one word in CamelCase, such as SecretMissing.
	Reason string `json:"reason"`
	// Message is a sentence for people.
	Message string `json:"message"`
}

// Event is an event on the parent, or on the object that is decorated.
type Event struct {
	// Type is Normal or Warning. Defaults to Normal.
	Type string `json:"type,omitempty" typescript:"\"Normal\" | \"Warning\" | null"`
	// Reason is one word in CamelCase, such as BackupDone.
	Reason string `json:"reason"`
	// Message is a sentence for people. It is cut at 1024 bytes.
	Message string `json:"message"`
}

// ResponseBase has the fields of all responses but that of the customize hook.
type ResponseBase struct {
	// Events are emitted once the response is applied, unless the response before had them
	// too. The first 20 count. Webhooks have them with version v2.
	Events []Event `json:"events,omitempty" typescript:"Event[] | null"`
	// ResyncAfterSeconds requests another call after that time, even if nothing changes. It may
	// be fractional; 0 means never. Less than a second, again and again, means a second.
	ResyncAfterSeconds *float64 `json:"resyncAfterSeconds,omitempty"`
}

// ParentResponseBase has the fields of responses about a whole parent.
type ParentResponseBase struct {
	ResponseBase
	// Finalized removes the finalizer from the parent. It is for the finalize hook.
	Finalized *bool `json:"finalized,omitempty"`
}

// HTTPContext is the argument of a script with signature HTTPContext, in place of the request.
type HTTPContext struct {
	// Request holds the hook's request.
	Request HTTPBody `json:"request" typescript:"HTTPBody<Body>" parameter:"Body"`
}

// HTTPBody is an HTTP request to such a script.
type HTTPBody struct {
	// Body is the hook's request.
	Body any `json:"body" typescript:"Body" parameter:"Body"`
}

// HTTPReply is the result of a script with signature HTTPContext, in place of the response.
type HTTPReply struct {
	// Status defaults to 200. Any other is an error.
	Status int64 `json:"status,omitempty"`
	// Body is the hook's response, or its JSON.
	Body any `json:"body" typescript:"Body | string" parameter:"Body"`
	// Headers may hold Retry-After, in seconds, for status 429 and 503.
	Headers map[string]string `json:"headers,omitempty"`
}
