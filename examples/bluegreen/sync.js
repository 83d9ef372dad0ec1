// BlueGreenDeployment: a new template gets a ReplicaSet of its own, in the color that does not serve. When all
// of its Pods are available the Service switches to them, and then the other ReplicaSet goes.
//
// Which color serves is written nowhere but in the Service's selector. So there are no steps to remember: each
// call looks at the Service and the ReplicaSets, and says what should be there next.

import { hash, objectsOf, service } from "libretto";

const colorLabel = "ctl.example.com/color";
const revisionLabel = "ctl.example.com/revision";

export function sync({ parent, children }) {
  const [exposed] = objectsOf(children, "v1", "Service");
  const sets = Object.fromEntries(objectsOf(children, "apps/v1", "ReplicaSet").map((set) => [colorOf(set), set]));
  const selected = exposed?.spec.selector[colorLabel];
  const { serving, replicaSets, progress } = nextStep(parent, selected, sets);
  const { name } = parent.metadata;

  return {
    children: [...replicaSets, newService(name, serving, parent.spec.ports)],
    status: newStatus(parent, serving, sets[serving], progress),
    events: selected && selected !== serving ? [{ reason: "Switched", message: `Service ${name} switches to ${serving}` }] : [],
  };
}

// nextStep decides which color serves, which ReplicaSets there should be, and what a rollout waits for.
function nextStep(parent, selected, sets) {
  const revision = hash(parent.spec.template);
  const isCurrent = (set) => set.metadata.labels[revisionLabel] === revision;
  const isAvailable = (set) => availableIn(set) >= parent.spec.replicas;

  const serving = sets[selected] ? selected : (bestColor(sets, isCurrent, isAvailable) ?? selected ?? "blue");
  const other = serving === "blue" ? "green" : "blue";
  if (!sets[serving] || isCurrent(sets[serving])) {
    // Nothing to roll out. The other ReplicaSet, if there still is one, is not in the list, and goes.
    return { serving, replicaSets: [newReplicaSet(parent, serving, revision)] };
  }

  const kept = scaled(sets[serving], parent.spec);
  if (sets[other] && !isCurrent(sets[other])) {
    // The template has changed again before the switch: what was begun goes, and its color is free when it is gone.
    return { serving, replicaSets: [kept], progress: "the Pods of an earlier template go first" };
  }
  const next = newReplicaSet(parent, other, revision);
  if (!isAvailable(sets[other])) {
    const progress = `${other} has ${availableIn(sets[other])} of ${parent.spec.replicas} Pods available`;
    return { serving, replicaSets: [kept, next], progress };
  }
  // Both stay in this list, because deletions come before updates: the old Pods go when the Service has switched.
  return { serving: other, replicaSets: [kept, next] };
}

// bestColor decides what serves if someone has deleted the Service, or the ReplicaSet that it selects.
function bestColor(sets, isCurrent, isAvailable) {
  const colors = Object.keys(sets).sort((a, b) => isCurrent(sets[b]) - isCurrent(sets[a]));
  return colors.find((color) => isAvailable(sets[color])) ?? colors[0];
}

function newStatus({ metadata: { name }, spec }, serving, set, progress) {
  const available = availableIn(set);
  const all = available >= spec.replicas;
  return {
    active: serving,
    replicas: set?.status?.replicas ?? 0,
    availableReplicas: available,
    selector: Object.entries(podLabels(name, serving)).map(([key, value]) => `${key}=${value}`).join(","), // for kubectl scale
    conditions: [
      {
        type: "Available",
        status: all ? "True" : "False",
        reason: all ? "AllPodsAvailable" : "PodsUnavailable",
        message: `${serving} serves with ${available} of ${spec.replicas} Pods`,
      },
      {
        type: "Updated",
        status: progress ? "False" : "True",
        reason: progress ? "RolloutProgressing" : "OnLatestTemplate",
        message: progress ? `${serving} serves: ${progress}` : `${serving} has the latest template`,
      },
    ],
  };
}

function newReplicaSet({ metadata: { name }, spec }, color, revision) {
  const labels = podLabels(name, color);
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: `${name}-${color}`, labels: { ...labels, [revisionLabel]: revision } },
    spec: {
      replicas: spec.replicas,
      minReadySeconds: spec.minReadySeconds,
      selector: { matchLabels: labels },
      template: {
        metadata: { ...spec.template.metadata, labels: { ...spec.template.metadata?.labels, ...labels } },
        spec: spec.template.spec,
      },
    },
  };
}

// scaled returns a ReplicaSet as it is, with the template of its time.
function scaled({ apiVersion, kind, metadata: { name, labels }, spec }, { replicas, minReadySeconds }) {
  return { apiVersion, kind, metadata: { name, labels }, spec: { ...spec, replicas, minReadySeconds } };
}

const newService = (name, color, ports) => service({ name, selector: podLabels(name, color), ports });
const podLabels = (name, color) => ({ "ctl.example.com/bluegreen": name, [colorLabel]: color });
const colorOf = (set) => set.metadata.labels[colorLabel];
const availableIn = (set) => (set && !set.metadata.deletionTimestamp ? (set.status?.availableReplicas ?? 0) : 0);
