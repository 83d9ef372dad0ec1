package controllertest

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
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
	// Compile returns the programs of the scripts of a patched definition. Nil means that cases can't change scripts.
	Compile func(ctx context.Context, definition *unstructured.Unstructured) (map[string]engines.Program, error)
	// ReadFile returns the text of a file relative to the test file. Nil means that cases have no files.
	ReadFile func(name string) ([]byte, error)
	// WriteFile replaces a golden file. Nil means that golden files are compared.
	WriteFile func(name string, text []byte) error
	// MaxBytes bounds the memory that a case may keep, about. Zero means that nothing does.
	MaxBytes int64
	// ShowSecrets leaves the values of Secrets in results.
	ShowSecrets bool

	mu    sync.Mutex
	bases map[time.Time]*stage.Base // by the time at which cases begin
}

// base returns the definition for cases that begin at a time. It is planned once.
func (s *Subject) base(now time.Time) (*stage.Base, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if base := s.bases[now]; base != nil {
		return base, nil
	}
	base, err := stage.NewBase(s.Definition, s.Resources, stage.Host{HostNamespace: hostNamespace}, now)
	if err != nil {
		return nil, err
	}
	if s.bases == nil {
		s.bases = map[time.Time]*stage.Base{}
	}
	s.bases[now] = base
	return base, nil
}
