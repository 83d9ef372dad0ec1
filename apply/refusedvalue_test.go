package apply

import (
	"errors"
	"testing"

	"github.com/libretto-k8s/libretto/apply/applytest"
)

// TestMessages has the messages in docs/design/messages.md about values that the API server refuses: each has the place and what to write.
func TestMessages(t *testing.T) {
	const unmarshal = "json: cannot unmarshal "
	const quantities = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - {name: a, env: [{name: A, value: a}]}\n  - {name: b, "
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: "
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	const asString = ": write String(x), in Jsonnet std.toString(x), in CEL string(x)"
	cases := map[string]struct{ reason, message, object, want string }{
		"number in env": {"the path has no index", unmarshal + "number into Go struct field EnvVar.spec.containers.env.value of type string",
			pod + "env: [{name: A, value: a}, {name: B, value: 80}]}", "spec.containers[1].env[1].value must be a string, but is a number" + asString},
		"item": {"of a list of texts", unmarshal + "number into Go struct field Container.spec.containers.args of type string",
			pod + "args: [a, 5]}", "spec.containers[1].args[1] must be a string, but is a number" + asString},
		"text as number": {"ports", unmarshal + "string into Go struct field ServicePort.spec.ports.port of type int32",
			service + `{ports: [{port: 1}, {port: "80"}]}`, "spec.ports[1].port must be a number, but is a string: write Number(x), in Jsonnet std.parseInt(x), in CEL int(x)"},
		"text as boolean": {"quotes", unmarshal + "string into Go struct field Container.spec.containers.tty of type bool",
			pod + `tty: "true"}`, `spec.containers[1].tty must be a boolean, but is a string: write true or false without quotes, or compare, as in x == "true"`},
		"map": {"the path of an entry has no key", unmarshal + "bool into Go struct field ServiceSpec.spec.selector of type string",
			service + "{selector: {a: b, c.d/e: true}}", `spec.selector["c.d/e"] must be a string, but is a boolean` + asString},
		"no list": {"brackets are missing", unmarshal + "object into Go struct field ServiceSpec.spec.ports of type []v1.ServicePort",
			service + "{ports: {port: 80}}", "spec.ports must be a list, but is an object: write it in brackets, as in [x]"},
		"no object": {"braces are missing", unmarshal + "string into Go struct field Service.spec of type v1.ServiceSpec",
			service + "a", "spec must be an object, but is a string: write it in braces, as in {name: x}"},
		"fraction": {"the type is right, and another item is", unmarshal + "number 1.5 into Go struct field ServicePort.spec.ports.port of type int32",
			service + "{ports: [{port: 1}, {port: 1.5}]}", "spec.ports[1].port is 1.5, which has a fraction or is too large for it"},
		"key of a Secret": {"keys are not reported", unmarshal + "number into Go struct field Secret.stringData of type string",
			secret + "stringData: {password: 5}", "a value in stringData must be a string, but is a number" + asString},
		"quantity": {"a space", quantities, pod + `resources: {limits: {cpu: "1"}, requests: {memory: "1 GB"}}}`,
			`spec.containers[1].resources.requests.memory is "1 GB": write a number and its unit without a space, such as 500m, 1Gi or 1G`},
		"unit": {"another unit", "unable to parse quantity's suffix", pod + `resources: {limits: {cpu: 1x}}}`, `spec.containers[1].resources.limits.cpu is "1x": write a number and its unit without a space, such as 500m, 1Gi or 1G`},
		"map in a map": {"the API server names the map, which is an object rightly", unmarshal + "object into Go struct field ServiceSpec.spec.selector of type string",
			"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {matchLabels: {app: a}}}",
			"spec.selector.matchLabels must be a string, but is an object: write JSON.stringify(x), in Jsonnet std.manifestJson(x), or what is in it one level up"},
		"base64": {"data of a Secret", "illegal base64 data at input byte 7", secret + "data: {password: hunter2!}", "data.password is no base64: write it as it is into stringData"},
		"one of several": {"the key is reported and no value", "illegal base64 data at input byte 7", secret + "data: {a: YQ==, password: hunter2!}",
			"data.password is no base64: write it as it is into stringData"},
		"no key": {"it may be the value", "illegal base64 data at input byte 7", secret + "data: {'hunter 2': password!}",
			"a value in data is no base64: write it as it is into stringData"},
		"binary data": {"of a ConfigMap", "illegal base64 data at input byte 4", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nbinaryData: {a: hi!}",
			"binaryData.a is no base64: write it as it is into data"},
		"applied": {"server-side apply has the whole path", `failed to create typed patch object (default/a; /v1, Kind=Pod): .spec.containers[name="b"].env[name="B"].value: expected string, got &value.valueUnstructured{Value:80}`,
			pod + "env: [{name: B, value: 80}]}", asString[2:]},
		"not sent":     {"a webhook has put it there", unmarshal + "number into Go struct field EnvVar.spec.containers.env.value of type string", pod + "env: []}", ""},
		"another text": {"most messages help as they are", "spec.ports: Required value", service + "{}", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			object := applytest.Parse(t, []byte(c.object))
			want := c.message
			if c.want != "" {
				want += ": " + c.want
			}
			got := Change{Key: KeyOf(object), Object: object}.explained(errors.New(c.message)).Error()
			if got != want {
				t.Errorf("message\n%s, want\n%s", got, want)
			}
		})
	}
	if got := (Change{}).explained(errors.New(quantities)).Error(); got != quantities {
		t.Errorf("nothing was sent, and the message is %s", got)
	}
}
