// Package hooks is the JSON of the hooks: what each is given and what it gives back.
//
// Requests are built and responses are read without these types, as the objects in them
// are of any kind. They are the one description of both: the TypeScript for authors is
// generated from them, comments included, and package test/contract holds them against
// what is really sent and taken. A field's name and whether it may be absent are in its
// json tag. The tag typescript is its type in TypeScript where that says more than Go
// can, and the tag parameter is the type parameter that this needs. A struct within
// another one lends it its fields.
package hooks

// ObjectKinds are the types of objects by the names of their groups, such as Pod.v1.
//
//typescript:type ObjectKinds = { [group: string]: KubernetesObject }
type ObjectKinds map[string]KubernetesObject

// ObjectGroups are objects in groups by kind: the outer key is Kind.version for kinds of
// the core group, such as Pod.v1, and Kind.group/version otherwise, such as
// Deployment.apps/v1. The inner key is that of the object. With version v2 of the hook it
// is namespace/name. With version v1 it is the name alone if the parent is in a
// namespace. An object that is in no namespace goes by its name in both.
//
//typescript:type ObjectGroups<Kinds extends object = ObjectKinds> = { [Group in keyof Kinds]: { [key: string]: Kinds[Group] } }
type ObjectGroups map[string]map[string]KubernetesObject

// Origin is what all requests have.
type Origin struct {
	// Controller is the definition, with an empty status.
	Controller KubernetesObject `json:"controller"`
	// Parameters are the hook's script.parameters, for scripts alone.
	Parameters any `json:"parameters,omitempty" typescript:"Parameters" parameter:"Parameters = any"`
}

// Surroundings is what requests about a whole parent have.
type Surroundings struct {
	// Related are the objects that the customize hook asked for, in a group for each kind
	// that it named, even if there are none of it. Version v1 of the hook shows a parent
	// in a namespace nothing outside of that.
	Related ObjectGroups `json:"related" typescript:"ObjectGroups<Related>" parameter:"Related extends object = ObjectKinds"`
	Origin
}

// Resync is what responses may say about time.
type Resync struct {
	// ResyncAfterSeconds asks to be called again after that time though nothing happens.
	ResyncAfterSeconds *float64 `json:"resyncAfterSeconds,omitempty"`
}

// Conclusion is what responses about a whole parent may say about time.
type Conclusion struct {
	Resync
	// Finalized says that the parent may go. It is for the finalize hook.
	Finalized *bool `json:"finalized,omitempty"`
}

// HTTPContext is what a script of signature HTTPContext is given in place of the request.
type HTTPContext struct {
	// Request holds the hook's request.
	Request HTTPBody `json:"request" typescript:"HTTPBody<Body>" parameter:"Body"`
}

// HTTPBody is a request over HTTP as such a script sees it.
type HTTPBody struct {
	// Body is the hook's request.
	Body any `json:"body" typescript:"Body" parameter:"Body"`
}

// HTTPReply is what a script of signature HTTPContext gives back in place of the response.
type HTTPReply struct {
	// Status is 200 if absent. Any other is an error.
	Status int64 `json:"status,omitempty"`
	// Body is the hook's response, or its JSON.
	Body any `json:"body" typescript:"Body | string" parameter:"Body"`
	// Headers may hold Retry-After, in seconds, for status 429 and 503.
	Headers map[string]string `json:"headers,omitempty"`
}
