package controllertest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/engines"
)

// Subject is the definition that cases test, and what they run on. It is shared by all cases of a file, and read-only.
type Subject struct {
	// Definition is the definition with defaults.
	Definition *unstructured.Unstructured
	// Programs are the definition's scripts, by hook, compiled once.
	Programs map[string]engines.Program
	// Resources are those of CustomResourceDefinitions, in addition to the built-in ones.
	Resources []memcluster.Resource
	// ReadFile returns the text of a file relative to the test file. Nil means that cases have no files.
	ReadFile func(name string) ([]byte, error)
	// WriteFile replaces a golden file. Nil means that golden files are compared.
	WriteFile func(name string, text []byte) error
}
