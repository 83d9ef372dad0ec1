package access

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/metadata/fake"
	"k8s.io/utils/clock"
)

// TestChanges counts the reports of changes: one for those that come together, and one for each of those that don't.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := fake.NewTestScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		client := fake.NewSimpleMetadataClient(scheme)
		var reported []sets.Set[string]
		changes := &Changes{Client: client, Clock: clock.RealClock{}, Log: logr.Discard()}
		early, end := context.WithCancel(t.Context())
		before := 0
		changes.Listen(early, func(sets.Set[string]) { before++ })
		changes.Listen(t.Context(), func(namespaces sets.Set[string]) { reported = append(reported, namespaces) })
		settle := func() { time.Sleep(10 * time.Second); synctest.Wait() }
		settle()
		if len(reported) == 0 || !reported[0].Has("") {
			t.Errorf("the first lists are reported as changes in %v", reported)
		}
		if reported, before = nil, 0; len(client.Actions()) != 8 {
			t.Errorf("want one list and one watch of each resource, got %v", client.Actions())
		}
		end()
		roles := client.Resource(rbacv1.SchemeGroupVersion.WithResource("roles")).Namespace("a").(fake.MetadataClient)
		create := func(name string) {
			role := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
			role.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("Role"))
			if _, err := roles.CreateFake(role, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		create("a")
		create("b")
		if settle(); len(reported) != 1 || !reported[0].Equal(sets.New("a")) {
			t.Errorf("two at once were reported as %v", reported)
		}
		if err := roles.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if settle(); len(reported) != 2 || !reported[1].Equal(sets.New("a")) {
			t.Errorf("another one was reported as %v", reported[1:])
		}
		if before > 0 {
			t.Errorf("%d were reported to who listens no more", before)
		}
	})
}
