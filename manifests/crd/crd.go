// Package crd holds Libretto's CustomResourceDefinitions.
package crd

import "embed"

// Files are the CustomResourceDefinitions, one in each file. tools/generate.sh makes them of the YAML beside this.
//
//go:embed json/*.json
var Files embed.FS
