import { childName, findChild, hashedName, isConditionTrue, job } from "libretto";
import type { CompositeRequest, CompositeResponse, KubernetesObject } from "libretto";

interface Password extends KubernetesObject {
  spec: { bytes: number };
}

const rbac = "rbac.authorization.k8s.io";

export function sync({ parent, children }: CompositeRequest<Password>): CompositeResponse {
  const { name, namespace } = parent.metadata;
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name } };
  const live = findChild(children, secret, parent);
  if (live?.data?.password) {
    return { status: { conditions: [ready("True", "Generated", "")] }, children: [secret] };
  }

  // Until then a Job may write this Secret, and nothing else. Without a Secret there is no UID yet to name it by.
  const account = childName(name, "generate");
  const metadata = { name: account };
  const generate = live && job({
    name: hashedName(account, live.metadata.uid),
    podSpec: {
      serviceAccountName: account,
      containers: [{
        name: "generate",
        image: "ghcr.io/example/kubectl:1",
        env: { SECRET: name, BYTES: parent.spec.bytes },
        command: ["sh", "-ec"],
        args: ['kubectl patch secret "$SECRET" -p "{\\"data\\":{\\"password\\":\\"$(head -c "$BYTES" /dev/urandom | base64 -w0 | base64 -w0)\\"}}"'],
      }],
    },
  });
  const failed = generate && isConditionTrue(findChild(children, generate, parent), "Failed");
  return {
    status: { conditions: [failed ? ready("False", "Failed", `see the log of Job ${generate.metadata.name}`) : ready("False", "InProgress", "")] },
    children: [
      secret,
      { apiVersion: "v1", kind: "ServiceAccount", metadata },
      {
        apiVersion: `${rbac}/v1`,
        kind: "Role",
        metadata,
        rules: [{ apiGroups: [""], resources: ["secrets"], resourceNames: [name], verbs: ["get", "patch"] }],
      },
      {
        apiVersion: `${rbac}/v1`,
        kind: "RoleBinding",
        metadata,
        roleRef: { apiGroup: rbac, kind: "Role", name: account },
        subjects: [{ kind: "ServiceAccount", namespace, name: account }],
      },
      ...(generate ? [generate] : []),
    ],
  };
}

function ready(status: "True" | "False", reason: string, message: string) {
  return { type: "Ready", status, reason, message };
}
