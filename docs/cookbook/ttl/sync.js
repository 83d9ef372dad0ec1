const hour = 3600 * 1000;
const day = 24 * hour;

export function sync({ parent: { metadata, spec } }) {
  const now = Date.now();
  const end = Date.parse(metadata.creationTimestamp) + spec.hours * hour;
  const endsAt = new Date(end).toISOString().replace(".000Z", "Z");
  if (now >= end) {
    return { status: { endsAt, ended: true }, children: [] };
  }
  const warning = { type: "Warning", reason: "EndsSoon", message: `the namespace ${metadata.name} is deleted at ${endsAt}` };
  const warnAt = end - day;
  return {
    status: { endsAt, ended: false },
    events: now >= warnAt ? [warning] : [],
    children: [{ apiVersion: "v1", kind: "Namespace", metadata: { name: metadata.name, labels: { "example.com/sandbox": "true" } } }],
    resyncAfterSeconds: ((now < warnAt ? warnAt : end) - now) / 1000,
  };
}
