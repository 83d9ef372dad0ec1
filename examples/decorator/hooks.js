// Each StatefulSet that is annotated with ports gets a headless Service for each of its Pods.

const annotation = "ctl.example.com/pod-services";

export function sync({ object }) {
  const ports = portsOf(object.metadata.annotations[annotation]);
  return { attachments: podNames(object).map((name) => service(name, ports)) };
}

// finalize is asked when the StatefulSet is deleted, and when it loses its annotation.
export function finalize() {
  return { attachments: [], finalized: true };
}

function podNames({ metadata, spec }) {
  const first = spec.ordinals?.start ?? 0;
  return Array.from({ length: spec.replicas }, (_, i) => `${metadata.name}-${first + i}`);
}

function portsOf(text) {
  return text.split(",").map((part) => {
    const port = Number(part);
    if (!Number.isInteger(port) || port < 1 || port > 65535) {
      throw new Error(`annotation ${annotation}: "${part.trim()}" is no port: write numbers with commas, such as "80,443"`);
    }
    return { name: `port-${port}`, port };
  });
}

// service makes the Service of a Pod. The StatefulSet's own controller puts that label on each Pod.
function service(name, ports) {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { clusterIP: "None", selector: { "statefulset.kubernetes.io/pod-name": name }, ports },
  };
}
