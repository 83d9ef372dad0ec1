import { childName, findChild, findCondition, hashedName, isConditionTrue, job } from "libretto";
import type { CompositeRequest, CompositeResponse, KubernetesObject } from "libretto";

interface Bucket extends KubernetesObject {
  spec: { region: string };
}

export function sync({ parent, children }: CompositeRequest<Bucket>): CompositeResponse {
  const create = bucketJob(hashedName(`${parent.metadata.name}-create`, parent.spec), "create", parent);
  return { status: { conditions: [conditionOf("Created", findChild(children, create, parent))] }, children: [create] };
}

export function finalize({ parent, children }: CompositeRequest<Bucket>): CompositeResponse {
  if (parent.metadata.annotations?.["example.com/abandon"] === "true") {
    return { children: [], finalized: true };
  }
  const remove = bucketJob(childName(parent.metadata.name, "remove"), "remove", parent);
  const running = findChild(children, remove, parent);
  const removed = conditionOf("Removed", running);
  const warning = { type: "Warning" as const, reason: "RemovalFailed", message: `Job ${remove.metadata.name}: ${removed.message}` };
  return {
    status: { conditions: [removed] },
    events: removed.reason === "Failed" ? [warning] : [],
    children: [remove],
    finalized: isConditionTrue(running, "Complete"),
  };
}

function bucketJob(name: string, verb: string, { metadata, spec }: Bucket) {
  const container = { name: "cloud", image: "ghcr.io/example/cloud:1", args: [verb, `${metadata.namespace}-${metadata.name}`, spec.region] };
  return job({ name, podSpec: { serviceAccountName: "buckets", containers: [container] }, spec: { backoffLimit: 4 } });
}

function conditionOf(type: string, running: any) {
  if (isConditionTrue(running, "Failed")) {
    return { type, status: "False" as const, reason: "Failed", message: findCondition(running, "Failed")?.message ?? "" };
  }
  return isConditionTrue(running, "Complete")
    ? { type, status: "True" as const, reason: "Done", message: "" }
    : { type, status: "False" as const, reason: "InProgress", message: "" };
}
