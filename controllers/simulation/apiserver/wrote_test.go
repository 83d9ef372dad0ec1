package apiserver

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// TestWrote checks which writes are told of, and that they are in the contexts of their clients.
func TestWrote(t *testing.T) {
	type key struct{}
	var got []string
	server, err := New(Config{Clock: clock.RealClock{}, Wrote: func(ctx context.Context, w memcluster.Write) {
		got = append(got, fmt.Sprint(ctx.Value(key{}), ": ", w.Verb, " ", w.Name, " ", w.Before != nil, " ", w.After != nil, " ", w.Err != nil))
	}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	ctx, config := context.WithValue(t.Context(), key{}, "pass"), client.CoreV1().ConfigMaps("default")
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	do(config.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))
	do(config.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}))
	do(config.Update(t.Context(), object, metav1.UpdateOptions{}))
	if _, err := config.Create(ctx, object, metav1.CreateOptions{}); err == nil {
		t.Error("it can be created twice")
	}
	do(config.Get(ctx, "a", metav1.GetOptions{}))
	do(nil, config.Delete(ctx, "a", metav1.DeleteOptions{}))
	want := []string{
		"pass: create a false true false", "<nil>: update a true true false", "pass: create a true true true", "pass: delete a true false false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
