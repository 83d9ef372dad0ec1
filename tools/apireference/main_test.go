package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kettles.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Kettle, plural: kettles, shortNames: [k]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        description: Kettle boils water.
        type: object
        properties:
          apiVersion: {type: string}
          lid: &part
            description: Lid keeps the steam in.
            type: object
            required: [size]
            x-kubernetes-validations: [{rule: "true", message: must close}]
            properties:
              size: {type: string, description: "Size is <n>cm\nor a|b.", enum: [s, l], default: s}
          spouts: {type: array, maxItems: 2, items: *part, x-kubernetes-validations: [{rule: "true", message: one leaks}]}
`

func TestReference(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(path, []byte(crd), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{path}, &out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"## Kettle",
		"`apiVersion: example.com/v1`, `kind: Kettle`. Cluster-scoped resource `kettles`, short `k`.",
		"| `lid` | [object](#kettle-lid) | `lid` keeps the steam in. |",
		"| `spouts` | [list of object](#kettle-lid) | At most 2. *Rule: one leaks.* |",
		"### Kettle lid",
		"- *Rule: must close.*",
		"| `size` (required) | string | `size` is &lt;n>cm or a\\|b. Default: `\"s\"`. One of `s`, `l`. |",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("the line %s is missing from\n%s", line, out.String())
		}
	}
}

func TestNothingToDescribe(t *testing.T) {
	if err := run(nil, &bytes.Buffer{}); err == nil {
		t.Error("no arguments: want an error")
	}
}
