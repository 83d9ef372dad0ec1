// Hooks of all kinds, written twice: hooks.jsonnet answers the same.
const annotation = "ctl.example.com/pod-services";

export function sync({ object }) {
  const ports = object.metadata.annotations[annotation].split(",").map((part) => {
    const port = Number(part);
    return { name: `port-${port}`, port };
  });
  const first = object.spec.ordinals?.start ?? 0;
  return {
    labels: { "pod-services": String(ports.length), old: null },
    attachments: Array.from({ length: object.spec.replicas }, (_, i) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: `${object.metadata.name}-${first + i}` },
      spec: { selector: { "statefulset.kubernetes.io/pod-name": `${object.metadata.name}-${first + i}` }, ports },
    })),
  };
}

export function finalize({ attachments }) {
  const left = Object.values(attachments).flatMap((group) => Object.values(group));
  return { attachments: [], finalized: left.length === 0, resyncAfterSeconds: 2.5 };
}

export function customize({ parent, parameters }) {
  return {
    relatedResources: [
      { apiVersion: "v1", resource: "configmaps", labelSelector: { matchLabels: { app: parent.metadata.name } } },
      { apiVersion: "v1", resource: "secrets", namespace: parent.metadata.namespace, names: parameters.secrets.map((s) => `${parent.metadata.name}.${s}`) },
    ],
  };
}

export function map({ parent, input }) {
  const data = input.data ?? {};
  const keys = Object.keys(data).sort();
  const characters = keys.reduce((sum, key) => sum + data[key].length, 0);
  return {
    outputs: [{
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `${parent.metadata.name}-${input.metadata.name}` },
      data: { of: input.metadata.name, keys: keys.join(" "), characters: String(characters) },
    }],
  };
}
