package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// auditPolicy keeps who asked for what, which is what tests count. It leaves out the API server's talk with itself, what the control plane's
// own parts read, and bodies, unless those of writes are wanted.
func auditPolicy(bodies bool) string {
	policy := `apiVersion: audit.k8s.io/v1
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
`
	if bodies {
		policy += `- level: RequestResponse
  verbs: [create, update, patch, delete, deletecollection]
`
	}
	return policy + "- level: Metadata\n"
}

func writeAuditPolicy(dir, policy string) (string, error) {
	path := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
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
