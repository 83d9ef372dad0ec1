package apply

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
)

// TestErrorsQuoteNoSecret checks that an error, which ends up in the status of a parent, does not have
// what a Secret holds, though the API server quotes what it can't read.
func TestErrorsQuoteNoSecret(t *testing.T) {
	const quoted = `failed to create typed patch object (default/a; /v1, Kind=Secret): .data.k: expected string, got &value.valueUnstructured{Value:"hunter2"}`
	refusal := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Reason: metav1.StatusReasonInternalError, Message: quoted}}
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	client := cluster()
	client.PrependReactor("create", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refusal })
	for rule, want := range map[string]bool{"Secret": false, "ConfigMap": true} {
		child := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": rule, "metadata": map[string]any{"name": "a", "namespace": "default"}, "data": map[string]any{"k": []any{"hunter2"}},
		}}
		change := Change{Action: ActionCreate, Key: KeyOf(child), Resource: secrets, Object: child}
		err := Execute(t.Context(), client, []Change{change}, Options{})[0].Err
		if err == nil || strings.Contains(err.Error(), "hunter2") != want {
			t.Errorf("the error about a %s quotes it: %v, want %v: %v", rule, !want, want, err)
		}
		var status apierrors.APIStatus
		if !errors.As(err, &status) || Classify(err) != FailureInvalid {
			t.Errorf("%v is not classified as before", err)
		}
	}
}
