package objectclient

import (
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// decode decodes an object.
type decode func(data []byte, into *unstructured.Unstructured) error

// decodeAll decodes an object with all of its managedFields.
func decodeAll(data []byte, into *unstructured.Unstructured) error {
	_, _, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, into)
	return err
}

// decodeAnswer decodes what a write is answered by.
func decodeAnswer(data []byte, into *unstructured.Unstructured) (err error) {
	into.Object, err = objectjson.Decode(data, objectjson.Options{KeepManagedFields: isApplied})
	return err
}

func isApplied(_, operation, _ string) bool {
	return operation == string(metav1.ManagedFieldsOperationApply)
}

// newSerializer returns a serializer of JSON that decodes objects by a function.
func newSerializer(decode decode) runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	others := serializer.NewCodecFactory(scheme).WithoutConversion()
	info, _ := runtime.SerializerInfoForMediaType(others.SupportedMediaTypes(), runtime.ContentTypeJSON) // It is there.
	info.Serializer = codec{info.Serializer, decode}
	return negotiated{others, info}
}

// negotiated serializes objects by codec, and options and errors by client-go's serializer.
type negotiated struct {
	runtime.NegotiatedSerializer
	json runtime.SerializerInfo
}

// SupportedMediaTypes returns JSON.
func (n negotiated) SupportedMediaTypes() []runtime.SerializerInfo {
	return []runtime.SerializerInfo{n.json}
}

// EncoderForVersion returns an encoder that writes objects as they are.
func (n negotiated) EncoderForVersion(encoder runtime.Encoder, version runtime.GroupVersioner) runtime.Encoder {
	return versioned{n.NegotiatedSerializer.EncoderForVersion(encoder, version), encoder}
}

// DecoderToVersion returns a decoder that leaves objects as they are.
func (n negotiated) DecoderToVersion(decoder runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return decoder
}

// versioned adds a version to what is no object.
type versioned struct {
	runtime.Encoder
	objects runtime.Encoder
}

// Encode writes an object or options.
func (v versioned) Encode(object runtime.Object, w io.Writer) error {
	if _, ok := object.(*unstructured.Unstructured); ok {
		return v.objects.Encode(object, w)
	}
	return v.Encoder.Encode(object, w)
}

// codec is a serializer that knows objects better.
type codec struct {
	runtime.Serializer
	decode decode
}

// Encode writes an object by package objectjson.
func (c codec) Encode(object runtime.Object, w io.Writer) error {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return c.Serializer.Encode(object, w)
	}
	return objectjson.Write(w, u.Object)
}

// Decode reads an object.
func (c codec) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	switch into := into.(type) {
	case *unstructured.Unstructured:
		if err := c.decode(data, into); err != nil {
			return nil, nil, err
		}
		kind := into.GroupVersionKind()
		return into, &kind, nil
	case *unstructured.UnstructuredList:
		return unstructured.UnstructuredJSONScheme.Decode(data, defaults, into)
	}
	return c.Serializer.Decode(data, defaults, into)
}
