package merge

import (
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// LastApplied is the annotation that remembers what was asked for last time, as
// JSON. It is metacontroller's, so that objects pass from one to the other.
const LastApplied = "metacontroller.k8s.io/last-applied-configuration"

// annotationBytes is what the API server allows for all annotations of an object
// together, keys and values.
const annotationBytes = 256 << 10

// Annotation returns the annotation LastApplied of object, or "".
func Annotation(object map[string]any) string {
	text, _ := jsonvalue.ObjectIn(jsonvalue.ObjectIn(object, "metadata"), "annotations")[LastApplied].(string)
	return text
}

// Remembered returns what the annotation of an object says that was asked for last time, or nil if it has none that can be read.
func Remembered(object map[string]any) map[string]any {
	text := Annotation(object)
	if text == "" {
		return nil
	}
	return decodeAnnotation(text)
}

// recall returns what was asked for last time. It is settled if that is what is
// desired now too; then desired itself is returned, and the annotation is not
// even decoded if it is written as we write it. An annotation that can't be read
// counts as none.
func recall(observed, desired map[string]any) (last map[string]any, settled bool) {
	text := Annotation(observed)
	if text == "" {
		return nil, false
	}
	if records(text, desired) {
		return desired, true
	}
	if last = decodeAnnotation(text); last == nil {
		return nil, false
	}
	last = emptied(Managed(last), desired)
	if recorded(last, desired) {
		return desired, true
	}
	return last, false
}

// decodeAnnotation returns what the annotation remembers, or nil if it can't be read. One of
// another writer may be without a kind.
func decodeAnnotation(text string) (last map[string]any) {
	data := []byte(text)
	if last, err := objectjson.Decode(data, objectjson.Options{}); err == nil {
		return last
	}
	if err := json.Unmarshal(data, &last); err != nil {
		return nil
	}
	return last
}

// emptied returns last without annotations, if there are none in it and none desired:
// metacontroller remembers an empty object where its own was the only one.
func emptied(last, desired map[string]any) map[string]any {
	meta := jsonvalue.ObjectIn(last, "metadata")
	if len(jsonvalue.ObjectIn(meta, "annotations")) > 0 || jsonvalue.ObjectIn(desired, "metadata")["annotations"] != nil {
		return last
	}
	if meta, differs := jsonvalue.Without(meta, "annotations"); differs {
		return jsonvalue.With(last, "metadata", meta)
	}
	return last
}

// WithAnnotation returns object with desired in its annotation, in the fullest form
// that fits beside the other annotations. If none fits, there is no annotation; nor
// is there if something else stands in its place, which the API server will refuse.
func WithAnnotation(object, desired map[string]any) (map[string]any, error) {
	if !annotatable(object) {
		return object, nil
	}
	meta := jsonvalue.ObjectIn(object, "metadata")
	annotations, _ := jsonvalue.Without(jsonvalue.ObjectIn(meta, "annotations"), LastApplied)
	text, err := encode(desired, annotationBytes-len(LastApplied)-size(annotations))
	if err != nil {
		return nil, err
	}
	if text != "" {
		annotations = jsonvalue.With(annotations, LastApplied, text)
	}
	return jsonvalue.With(object, "metadata", jsonvalue.With(meta, "annotations", annotations)), nil
}

// annotatable reports whether object has, or can be given, annotations.
func annotatable(object map[string]any) bool {
	_, isObject := object["metadata"].(map[string]any)
	if !isObject {
		return object["metadata"] == nil
	}
	annotations := jsonvalue.ObjectIn(object, "metadata")["annotations"]
	_, isObject = annotations.(map[string]any)
	return isObject || annotations == nil
}

// size counts the bytes of annotations as the API server does.
func size(annotations map[string]any) int {
	n := 0
	for name, value := range annotations {
		s, _ := value.(string)
		n += len(name) + len(s)
	}
	return n
}
