package diff

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestCaptureSecrets captures a parent whose scripts repeat a Secret wherever they can: one that a hook asks for, or one that the parent
// names. Nothing of it is in the file, which passes.
func TestCaptureSecrets(t *testing.T) {
	for name, related := range map[string]struct {
		entry string
		hooks []string
	}{
		"customize": {"{apiVersion: v1, resource: secrets}", []string{"sync", "customize"}},
		"nameFrom":  {"{apiVersion: v1, resource: secrets, nameFrom: {fieldPath: spec.secretName}}", []string{"sync"}},
	} {
		t.Run(name, func(t *testing.T) { captureSecrets(t, related.entry, related.hooks...) })
	}
}

func captureSecrets(t *testing.T, entry string, hookNames ...string) {
	t.Parallel()
	const secret, token = "hunter2-correct-horse", "tok:en/+ with 7 spaces"
	const text = `
export function customize({parent}) {
  return {relatedResources: [{apiVersion: "v1", resource: "secrets", namespace: parent.metadata.namespace, names: ["login"]}]};
}
export function sync({parent, related, parameters}) {
  const {name} = parent.metadata;
  const data = Object.values(related["Secret.v1"])[0]?.data ?? {password: "", token: ""};
  const {password, token} = data;
  const meta = {name, annotations: {"kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({password}), seen: "a" + token + "b"}};
  return {status: {password, url: "postgres://me:" + password + "@db", at: {[ "k" + "ey"]: token}}, children: [
    {apiVersion: "v1", kind: "ConfigMap", metadata: meta, data: {text: "begin " + password + token + " end", parameter: parameters.password + "", ["key-" + name]: token}},
    {apiVersion: "v1", kind: "Secret", metadata: {name}, stringData: {joined: password + ":" + token}},
    {apiVersion: "v1", kind: "Pod", metadata: {name}, spec: {containers: [{name: "main", image: "app:one", args: ["--password=" + password],
      env: [{name: "PASSWORD", value: password}, {name: "DSN", value: "a " + token}]}]}},
  ]};
}`
	e := env.NewRunning(t)
	e.Apply("apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: " + secret + ", token: \"" + token + "\"}")
	hooks := strings.Replace(env.Hooks(text, hookNames...), "inline:", "parameters: {password: "+secret+"}, inline:", 1)
	e.DefineReady(env.Composite, "", "generateSelector: true", e.Parent("things", ""), "relatedResources: ["+entry+"]",
		"childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}, {apiVersion: v1, resource: secrets, updateStrategy: {method: InPlace}},"+
			" {apiVersion: v1, resource: pods}]", hooks)
	e.ApplyThing("thing", "", "secretName: login")
	e.WaitFor(env.ConfigMaps, "thing", env.OwnedBy(e.Get(e.Things(), "thing")))
	args := []string{"things." + e.Group + "/thing", "-n", e.Namespace, "--kubeconfig", e.Cluster.Kubeconfig}
	stdout, stderr, code := libretto(e, append([]string{"capture"}, args...)...)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	explained, _, _ := libretto(e, append([]string{"explain", "--all"}, args...)...)
	for _, plain := range []string{secret, token} {
		encoded := base64.StdEncoding.EncodeToString([]byte(plain))
		mustContain(t, stdout+stderr+explained, nil, []string{plain, encoded, base64.StdEncoding.EncodeToString([]byte(encoded))})
	}
	testFile(e, stdout, 1)
}
