package api

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestUser checks that a user of package env has the rights that it was given, and no others.
func TestUser(t *testing.T) {
	e := env.New(t)
	user := e.NewUser("editor")
	if _, err := user.In(env.ConfigMaps).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without rights lists ConfigMaps: %v", err)
	}
	user.Bind(e.Namespace, "edit")
	if _, err := user.In(env.ConfigMaps).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("an editor may not list ConfigMaps: %v", err)
	}
	if _, err := user.Dynamic().Resource(env.Namespaces).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("an editor of one namespace lists all namespaces: %v", err)
	}
	user.Grant("", "", "namespaces,nodes", "list")
	if _, err := user.Dynamic().Resource(env.Namespaces).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the rule does not count: %v", err)
	}
	if !user.Can("create", env.ConfigMaps) || user.Can("create", env.Namespaces) {
		t.Error("Can does not say what the API server allows")
	}
}
