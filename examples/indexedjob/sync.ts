// IndexedJob: a Job in which each index from 0 on needs one Pod that succeeds.
//
// The Pods of an index are its attempts: NAME-INDEX-ATTEMPT. A Pod that has failed stays, for its log and as the
// count of attempts. That an index is done is in the status too, because someone may clean up Pods.

import type { CompositeRequest, CompositeResponse, Condition, KubernetesObject } from "libretto";
import { objectsOf } from "libretto";

interface Pod extends KubernetesObject {
  status?: { phase?: string };
}

interface Status {
  active: number;
  succeeded: number;
  failed: number;
  completedIndexes: number[];
  failedIndexes: number[];
  conditions: Condition[];
}

interface IndexedJob extends KubernetesObject {
  spec: { completions: number; parallelism: number; retries: number; template: { metadata?: any; spec: any } };
  status?: Partial<Status>;
}

const indexLabel = "ctl.example.com/index";
const attemptLabel = "ctl.example.com/attempt";

export function sync({ parent: job, children }: CompositeRequest<IndexedJob, { "Pod.v1": Pod }>): CompositeResponse<Status> {
  const pods = objectsOf(children, "v1", "Pod");
  const indexes = Array.from({ length: job.spec.completions }, (_, index) => index);
  const attempts = indexes.map((index) => pods.filter((pod) => numberOf(pod, indexLabel) === index));

  const isIn = (list: number[] | undefined, index: number) => list?.includes(index) ?? false;
  const completed = indexes.filter(
    (index) => isIn(job.status?.completedIndexes, index) || attempts[index].some((pod) => phaseOf(pod) === "Succeeded"),
  );
  const failed = indexes.filter(
    (index) => !isIn(completed, index) && (isIn(job.status?.failedIndexes, index) || nextAttempt(attempts[index]) > job.spec.retries),
  );

  const active = indexes.filter((index) => attempts[index].some(isActive));
  const startable = indexes.filter((index) => !isIn(completed, index) && !isIn(failed, index) && !isIn(active, index));
  const started = startable.slice(0, Math.max(0, job.spec.parallelism - active.length));

  const givenUp = failed.filter((index) => !isIn(job.status?.failedIndexes, index));
  return {
    // Pods that ended are listed too: one that is not in the list is deleted.
    children: [...pods.map(asItIs), ...started.map((index) => newPod(job, index, nextAttempt(attempts[index])))],
    status: {
      active: active.length,
      succeeded: completed.length,
      failed: failed.length,
      completedIndexes: completed,
      failedIndexes: failed,
      conditions: [completeCondition(job.spec.completions, completed, failed)],
    },
    events: givenUp.map((index) => ({
      type: "Warning",
      reason: "IndexFailed",
      message: `index ${index} is given up after ${job.spec.retries + 1} Pods that failed`,
    })),
  };
}

// nextAttempt returns the number of the attempt after the last one that failed.
function nextAttempt(pods: Pod[]): number {
  const failed = pods.filter(hasFailed);
  return Math.max(-1, ...failed.map((pod) => numberOf(pod, attemptLabel))) + 1;
}

function completeCondition(completions: number, completed: number[], failed: number[]): Condition {
  const message = `${completed.length} of ${completions} indexes succeeded`;
  if (completed.length === completions) {
    return { type: "Complete", status: "True", reason: "AllIndexesSucceeded", message };
  }
  const failures = failed.length > 0 ? `, and these failed: ${failed.join(", ")}` : "";
  const isOver = completed.length + failed.length === completions;
  return { type: "Complete", status: "False", reason: isOver ? "IndexesFailed" : "IndexesRunning", message: message + failures };
}

function newPod(job: IndexedJob, index: number, attempt: number) {
  const { metadata, spec } = job.spec.template;
  const variable = { name: "JOB_COMPLETION_INDEX", value: String(index) };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${job.metadata.name}-${index}-${attempt}`,
      labels: { ...metadata?.labels, [indexLabel]: String(index), [attemptLabel]: String(attempt) },
      annotations: { ...metadata?.annotations },
    },
    spec: {
      ...spec,
      hostname: `${job.metadata.name}-${index}`, // the same in each attempt
      containers: spec.containers.map((container: any) => ({ ...container, env: [...(container.env ?? []), variable] })),
    },
  };
}

// asItIs keeps a Pod. Its name is enough, because Pods are not updated (controller.yaml gives no strategy).
const asItIs = ({ metadata: { name } }: Pod) => ({ apiVersion: "v1", kind: "Pod", metadata: { name } });

const phaseOf = (pod: Pod) => pod.status?.phase;
// A Pod that is being deleted ends as Failed, too. That is no failure: it is active until it is gone, and then started again.
const hasFailed = (pod: Pod) => phaseOf(pod) === "Failed" && !pod.metadata.deletionTimestamp;
const isActive = (pod: Pod) => phaseOf(pod) !== "Succeeded" && !hasFailed(pod);
const numberOf = (pod: Pod, label: string) => Number(pod.metadata.labels?.[label]);
