package dev

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/simulation/apiserver"
	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
)

// memory returns a cluster in memory that runs until ctx ends.
func (s *session) memory(ctx context.Context) (*cluster, error) {
	server, err := apiserver.New(apiserver.Config{Clock: clock.RealClock{}, Log: logr.Discard(), ReadyAfter: readyAfter})
	if err != nil {
		return nil, err
	}
	s.running.Go(func() { server.Run(ctx) })
	return &cluster{config: server.RESTConfig(), handler: server.Handler(), setReady: func(object reference, ready *bool) error {
		version, err := schema.ParseGroupVersion(object.APIVersion)
		if err != nil {
			return &refusedError{http.StatusBadRequest, err.Error()}
		}
		server.SetReady(objectkey.Key{Kind: version.WithKind(object.Kind), Namespace: object.Namespace, Name: object.Name}, ready)
		return nil
	}}, nil
}
