import { configMap, findChild, hashedName, isConditionTrue, job, objectsOf } from "libretto";

const label = "example.com/feed";

export function customize({ parent: { metadata } }) {
  const labelSelector = { matchLabels: { [label]: metadata.name } };
  return { relatedResources: [{ apiVersion: "v1", resource: "pods", namespace: metadata.namespace, labelSelector }] };
}

export function sync({ parent, children, related }) {
  const { name } = parent.metadata;
  const { url, hours } = parent.spec;
  const now = Date.now();
  const period = hours * 3600 * 1000;
  const begin = Math.floor(now / period) * period;

  const fetch = job({
    name: hashedName(`${name}-fetch`, [url, begin]),
    labels: { [label]: name },
    podSpec: { containers: [{ name: "fetch", image: "curlimages/curl:8.17.0", args: ["-fsSL", "-o", "/dev/termination-log", url] }] },
    spec: { backoffLimit: 3 },
  });
  const values = findChild(children, configMap({ name }), parent);
  const { data, condition } = resultOf(findChild(children, fetch, parent), objectsOf(related, "v1", "Pod"));
  const kept = data ?? values?.data;
  return {
    status: { conditions: [condition] },
    children: [fetch, ...(kept ? [configMap({ name, data: kept })] : [])],
    resyncAfterSeconds: (begin + period - now) / 1000,
  };
}

// resultOf returns what the Pod of a Job has found, if it has succeeded, and the condition Fresh.
function resultOf(job, pods) {
  const condition = (status, reason, message) => ({ type: "Fresh", status, reason, message });
  if (isConditionTrue(job, "Failed")) {
    return { condition: condition("False", "JobFailed", `Job ${job.metadata.name} has failed: the values are those of before`) };
  }
  const pod = pods.find(({ metadata, status }) => metadata.labels["batch.kubernetes.io/job-name"] === job?.metadata.name && status?.phase === "Succeeded");
  if (!pod) {
    return { condition: condition("False", "Fetching", "the values are those of before, if there are any") };
  }
  const text = pod.status.containerStatuses?.[0].state.terminated?.message ?? "";
  try {
    const entries = Object.entries(JSON.parse(text));
    if (entries.length > 0 && entries.every(([key, value]) => /^[\w.-]+$/.test(key) && typeof value === "number")) {
      return { data: Object.fromEntries(entries.map(([key, value]) => [key, String(value)])), condition: condition("True", "Fetched", "") };
    }
  } catch {
    // It is no JSON, and as good as no object of numbers.
  }
  return { condition: condition("False", "InvalidAnswer", "the server's answer is no object of numbers: the values are those of before") };
}
