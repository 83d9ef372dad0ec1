package enginetest

import "testing"

type object = map[string]any

// kindCase is a request to a hook.
type kindCase struct {
	hook    Hook
	request object
}

// kindCases returns requests to hooks of all kinds but a composite's sync.
func kindCases() map[string]kindCase {
	annotated := func(name, ports string, spec object) object {
		metadata := object{"name": name, "namespace": "default", "annotations": object{"ctl.example.com/pod-services": ports}}
		return object{
			"object": object{"metadata": metadata, "spec": spec}, "attachments": object{"Service.v1": object{}},
			"related": object{}, "finalizing": false,
		}
	}
	left := func(groups object) object {
		return object{"object": object{}, "attachments": groups, "finalizing": true}
	}
	parent := func(secrets ...any) object {
		return object{"metadata": object{"name": "web", "namespace": "default"}, "spec": object{"secrets": append([]any{}, secrets...)}}
	}
	input := func(fields object) object {
		fields["metadata"] = object{"name": "in"}
		return object{"parent": parent(), "input": fields, "mapKey": "k", "outputs": object{}, "related": object{}}
	}
	return map[string]kindCase{
		"decorator":           {Decorator, annotated("web", "80,443", object{"replicas": int64(3), "ordinals": object{"start": int64(5)}})},
		"decorator of none":   {Decorator, annotated("db", "5432", object{"replicas": int64(0)})},
		"finalize":            {Finalize, left(object{"Service.v1": object{"a": object{}}, "ConfigMap.v1": object{}})},
		"finalized":           {Finalize, left(object{"Service.v1": object{}})},
		"customize":           {Customize, object{"parent": parent("tls", "token")}},
		"customize by labels": {Customize, object{"parent": parent()}},
		"map":                 {Map, input(object{"data": object{"b": "12", "a": "größe", "empty": ""}})},
		"map of nothing":      {Map, input(object{})},
	}
}

func checkKinds(t *testing.T, e *engineUnderTest) {
	for name, c := range kindCases() {
		t.Run(name, func(t *testing.T) { e.checkReference(t, c.hook, c.request) })
	}
}
