import { canonicalJSON, configMap, objectsOf } from "libretto";

const label = "example.com/scrape";

export function customize() {
  const labelSelector = { matchExpressions: [{ key: label, operator: "Exists" }] };
  return { relatedResources: [{ apiVersion: "v1", resource: "services", labelSelector }] };
}

export function sync({ parent, related }) {
  const services = objectsOf(related, "v1", "Service");
  const valid = services.filter((service) => portOf(service));
  const invalid = services.filter((service) => !portOf(service)).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  const targets = valid.map((service) => ({
    targets: [`${service.metadata.name}.${service.metadata.namespace}.svc:${portOf(service)}`],
    labels: { namespace: service.metadata.namespace },
  }));
  return {
    status: { targets: targets.length, invalid },
    events: invalid.map((name) => ({ type: "Warning", reason: "InvalidTarget", message: `Service ${name}: label ${label} is no port of it` })),
    children: [configMap({ name: parent.spec.configMap, data: { "targets.json": canonicalJSON(targets) } })],
  };
}

// portOf returns the number of the port that the label names, if the Service has it.
function portOf({ metadata, spec }) {
  return spec.ports.find(({ name, port }) => metadata.labels[label] === name || metadata.labels[label] === String(port))?.port;
}
