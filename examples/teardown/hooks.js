// MessageQueue: a Deployment that keeps messages on a volume, and that is taken down in order: first its messages are drained,
// then it is stopped, and only then the volume goes. Each call looks at what is left, and returns what may still be there.

import { isConditionTrue, objectsOf } from "libretto";

export function sync({ parent, children }) {
  const [deployment] = objectsOf(children, "apps/v1", "Deployment");
  const { replicas } = parent.spec;
  const available = deployment?.status?.availableReplicas ?? 0;
  const status = available < replicas
    ? step("Starting", `${available} of ${replicas} replicas are available`)
    : step("Running", `${available} of ${replicas} replicas are available`, "True");
  return { status, children: [claim(parent), app(parent)] };
}

export function finalize({ parent, children }) {
  const [job] = objectsOf(children, "batch/v1", "Job");
  const [deployment] = objectsOf(children, "apps/v1", "Deployment");
  const [volume] = objectsOf(children, "v1", "PersistentVolumeClaim");

  // The Job stays until the volume goes: that it is complete is how the later steps know that they may go on. Then it goes, too: the volume
  // is not gone as long as a Pod uses it, and be that one that has ended.
  const isGoing = !deployment && (!volume || volume.metadata.deletionTimestamp !== undefined);
  const drained = isGoing || parent.spec.drain.skip || isConditionTrue(job, "Complete");
  if (!drained) {
    return { ...drainAnswer(job), children: [claim(parent), app(parent), drain(parent)] };
  }
  const jobs = job ? [drain(parent)] : [];
  if (deployment) {
    return { status: step("Stopping", "waits for the Deployment to be gone"), children: [claim(parent), ...jobs] };
  }
  if (volume) {
    return { status: step("RemovingStorage", "waits for the volume to be gone"), children: isGoing ? [] : jobs };
  }
  return { children: [], finalized: true };
}

function drainAnswer(job) {
  if (!isConditionTrue(job, "Failed")) return { status: step("Draining", "waits for the drain Job to be complete") };
  const message = `the drain Job has failed: delete Job ${job.metadata.name} to try again, or set spec.drain.skip to lose the messages`;
  return { status: step("Draining", message, "False", "DrainFailed"), events: [{ type: "Warning", reason: "DrainFailed", message }] };
}

// The condition is about serving, so that it is False as soon as the queue is being taken down.
function step(phase, message, status = "False", reason = phase) {
  return { phase, conditions: [{ type: "Ready", status, reason, message }] };
}

function claim({ metadata: { name }, spec }) {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name },
    spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: spec.storage } } },
  };
}

function app({ metadata: { name }, spec }) {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: spec.replicas,
      selector: { matchLabels: { queue: name } },
      template: { metadata: { labels: { queue: name } }, spec: { ...podSpec(name), containers: [container(spec)] } },
    },
  };
}

function drain({ metadata: { name }, spec }) {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: `${name}-drain` },
    spec: {
      backoffLimit: 3,
      template: {
        metadata: { labels: { drains: name } },
        spec: { ...podSpec(name), restartPolicy: "Never", containers: [{ ...container(spec), command: spec.drain.command }] },
      },
    },
  };
}

function podSpec(name) {
  return { securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } }, volumes: [messages(name)] };
}

function container({ image }) {
  return {
    name: "queue",
    image,
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    volumeMounts: [{ name: "messages", mountPath: "/var/lib/queue" }],
  };
}

function messages(claimName) {
  return { name: "messages", persistentVolumeClaim: { claimName } };
}
