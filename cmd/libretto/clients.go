package main

import (
	"errors"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// requestTimeout is how long the API server may take to answer what a pass asks of it.
const requestTimeout = time.Minute

// clients are the ways to ask the API server.
type clients struct {
	watching dynamic.Interface // without a limit on time: watches last
	asking   dynamic.Interface // for passes, which must not hold their parents for ever
	typed    kubernetes.Interface
	metadata metadata.Interface // without a limit on time
	letting  metadata.Interface // for what is let go of, with the limit of asking
}

// newClients gives clients of which those that ask get an answer within that time, or an error.
func newClients(config *rest.Config, within time.Duration) (*clients, error) {
	bounded := rest.CopyConfig(config)
	bounded.Timeout = within
	watching, err := dynamic.NewForConfig(config)
	asking, askingErr := dynamic.NewForConfig(bounded)
	typed, typedErr := kubernetes.NewForConfig(config)
	known, metadataErr := metadata.NewForConfig(config)
	letting, lettingErr := metadata.NewForConfig(bounded)
	if err := errors.Join(err, askingErr, typedErr, metadataErr, lettingErr); err != nil {
		return nil, err
	}
	return &clients{watching: watching, asking: asking, typed: typed, metadata: known, letting: letting}, nil
}
