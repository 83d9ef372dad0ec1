// Package crd holds Libretto's CustomResourceDefinitions.
package crd

import "embed"

// Files are the YAML files of the CustomResourceDefinitions, one document each.
//
//go:embed metacontroller.k8s.io_*.yaml libretto.dev_*.yaml
var Files embed.FS
