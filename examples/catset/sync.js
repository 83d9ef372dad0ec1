// CatSet: what a StatefulSet does, in one function.
// The host calls sync whenever a CatSet or one of its children has changed. It hands over
// the CatSet and the children that exist, and takes back those that should exist. Then it
// creates what is missing, deletes what is not in the answer, and calls again when that has
// had an effect. So there are no steps to remember: look at what is, and say what is next.

import { isConditionTrue, objectsOf, ordinalOf } from "libretto";

export function sync(request) {
  const set = request.parent;
  const pods = byOrdinal(set, objectsOf(request.children, "v1", "Pod"));
  const claims = objectsOf(request.children, "v1", "PersistentVolumeClaim");

  const ordinals = wantedOrdinals(pods, set.spec.replicas);
  const wantedClaims = ordinals.flatMap((ordinal) => newClaims(set, ordinal));

  return {
    status: newStatus(set, pods),
    children: [
      ...wantedClaims,
      ...otherClaims(claims, wantedClaims),
      ...ordinals.map((ordinal) => newPod(set, ordinal)),
    ],
  };
}

// wantedOrdinals decides which pods should exist now, by their number.
function wantedOrdinals(pods, replicas) {
  const wanted = [];

  // Upwards: a pod is created when all before it are ready. One that exists stays,
  // ready or not, unless it has failed: then it goes, to be created anew.
  let allReady = true;
  for (let ordinal = 0; ordinal < replicas; ordinal++) {
    const pod = pods.get(ordinal);
    if (pod ? !hasFailed(pod) : allReady) {
      wanted.push(ordinal);
    }
    allReady = allReady && isReady(pod);
  }

  // Downwards: of the pods above, only the highest goes. It is among the children
  // until it has really stopped, so the next one has to wait for that.
  const surplus = [...pods.keys()].filter((ordinal) => ordinal >= replicas);
  const highest = Math.max(...surplus);
  return wanted.concat(surplus.filter((ordinal) => ordinal !== highest).sort((a, b) => a - b));
}

// newPod makes the pod of a number: the template, with a stable name and the pod's own volumes.
function newPod(set, ordinal) {
  const { metadata = {}, spec } = set.spec.template;
  const name = podName(set, ordinal);
  const own = claimTemplates(set).map((template) => ({
    name: template.metadata.name,
    persistentVolumeClaim: { claimName: claimName(set, template, ordinal) },
  }));
  const isOwn = (volume) => own.some(({ name }) => name === volume.name);

  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { ...metadata.labels }, annotations: { ...metadata.annotations } },
    spec: {
      ...spec,
      hostname: name,
      subdomain: set.spec.serviceName ?? "",
      volumes: [...(spec.volumes ?? []).filter((volume) => !isOwn(volume)), ...own],
    },
  };
}

// newClaims makes the claims of a number, one for each template. A child must
// carry the labels of the set's selector, or it would not be found again.
function newClaims(set, ordinal) {
  return claimTemplates(set).map((template) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: claimName(set, template, ordinal),
      labels: { ...template.metadata.labels, ...set.spec.selector.matchLabels },
      annotations: { ...template.metadata.annotations },
    },
    spec: template.spec,
  }));
}

// otherClaims keeps the claims of pods that are gone: data outlives a scale-down.
// A child that the answer leaves out is deleted, so they must be in it. Their name
// and labels are enough, because claims are not updated (controller.yaml gives no strategy).
function otherClaims(claims, wanted) {
  const names = new Set(wanted.map((claim) => claim.metadata.name));
  return claims
    .filter((claim) => !names.has(claim.metadata.name))
    .map(({ apiVersion, kind, metadata: { name, labels } }) => ({ apiVersion, kind, metadata: { name, labels } }));
}

function newStatus(set, pods) {
  const all = [...pods.entries()];
  return {
    replicas: all.length,
    readyReplicas: all.filter(([, pod]) => isReady(pod)).length,
    currentReplicas: all.filter(([ordinal, pod]) => ordinal < set.spec.replicas && !isGoing(pod)).length,
    // For kubectl scale and autoscalers, which look for the pods by it.
    selector: Object.entries(set.spec.selector.matchLabels)
      .map(([key, value]) => `${key}=${value}`)
      .join(","),
  };
}

// byOrdinal finds the pods of the set by their number.
function byOrdinal(set, pods) {
  const numbered = pods.map((pod) => [ordinalOf(pod.metadata.name, set.metadata.name), pod]);
  return new Map(numbered.filter(([ordinal]) => ordinal !== null));
}

const claimTemplates = (set) => set.spec.volumeClaimTemplates ?? [];
const podName = (set, ordinal) => `${set.metadata.name}-${ordinal}`;
const claimName = (set, template, ordinal) => `${template.metadata.name}-${podName(set, ordinal)}`;

const isGoing = (pod) => pod.metadata.deletionTimestamp !== undefined;
const hasFailed = (pod) => pod.status?.phase === "Failed";
const isReady = (pod) => pod !== undefined && !isGoing(pod) && isConditionTrue(pod, "Ready");
