package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// auditPolicy keeps who asked for what, which is what tests count. It leaves out the bodies, the API server's talk with
// itself, and what the control plane's own parts read.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: None
  users: ["system:apiserver"]
- level: None
  users: ["` + componentUser + `"]
  verbs: [get, list, watch]
- level: None
  nonResourceURLs: ["/healthz*", "/readyz*", "/livez*", "/metrics*", "/openapi*"]
- level: Metadata
`

func writeAuditPolicy(dir string) (string, error) {
	path := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(path, []byte(auditPolicy), 0o600); err != nil {
		return "", fmt.Errorf("audit policy: %w", err)
	}
	return path, nil
}

func auditArguments(dir, policy string) []string {
	return []string{
		"--audit-policy-file=" + policy,
		"--audit-log-path=" + filepath.Join(dir, "audit.log"),
		// A line is written before its request counts as served, so that a reader who waited for an answer finds it.
		"--audit-log-mode=blocking",
		"--audit-log-maxsize=0", // rotation would take lines from under a reader
	}
}
