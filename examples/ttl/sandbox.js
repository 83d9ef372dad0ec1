// Sandbox: a Deployment that goes when its time is over.

export function sync({ parent: { metadata, spec } }) {
  const end = Date.parse(metadata.creationTimestamp) + spec.ttlSeconds * 1000;
  const left = end - Date.now();
  const expiresAt = new Date(end).toISOString().replace(".000Z", "Z");

  // What is not in the answer is deleted. Messages have the time when it ends, and not how long that still is: the status would be
  // another one in each call.
  if (left <= 0) {
    return { status: { expiresAt, conditions: [expired("True", "TimeIsOver", `ended at ${expiresAt}; a higher ttlSeconds brings it back`)] }, children: [] };
  }
  return {
    status: { expiresAt, conditions: [expired("False", "Running", `ends at ${expiresAt}`)] },
    children: [deployment(metadata.name, spec.image)],
    resyncAfterSeconds: left / 1000, // nothing happens at that time that would call the hook
  };
}

function expired(status, reason, message) {
  return { type: "Expired", status, reason, message };
}

function deployment(name, image) {
  const labels = { sandbox: name };
  const container = { name: "sandbox", image, securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } } };
  const podSpec = { securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } }, containers: [container] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec } },
  };
}
