package parenttest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// FakeStatusServer is an API server that stores what keep returns for a status.
type FakeStatusServer struct {
	Keep         func(status map[string]any) map[string]any
	Refuse       error
	Sent         []any
	Subresources []string
}

// Client returns a client whose updates the server answers.
func (s *FakeStatusServer) Client() *dynamicfake.FakeDynamicClient {
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("update", "things", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if s.Refuse != nil {
			return true, nil, s.Refuse
		}
		object := action.(clienttesting.UpdateAction).GetObject().(*unstructured.Unstructured).DeepCopy()
		s.Sent, s.Subresources = append(s.Sent, object.Object["status"]), append(s.Subresources, action.GetSubresource())
		if s.Keep == nil {
			return true, object, nil
		}
		status, _ := object.Object["status"].(map[string]any)
		if kept := s.Keep(status); kept == nil {
			delete(object.Object, "status")
		} else {
			object.Object["status"] = kept
		}
		return true, object, nil
	})
	return client
}
