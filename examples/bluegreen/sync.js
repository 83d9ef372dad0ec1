// BlueGreenDeployment: a new template gets a ReplicaSet of its own, in the color that does not serve. When all
// of its Pods are available the Service switches to them, and then the other ReplicaSet goes.
//
// Which color serves is written nowhere but in the Service's selector. So there are no steps to remember: each
// call looks at the Service and the ReplicaSets, and says what should be there next.

import { hash, objectsOf } from "libretto";

const colorLabel = "ctl.example.com/color";
const revisionLabel = "ctl.example.com/revision";

export function sync({ parent, children }) {
  const [service] = objectsOf(children, "v1", "Service");
  const sets = Object.fromEntries(objectsOf(children, "apps/v1", "ReplicaSet").map((set) => [colorOf(set), set]));
  const revision = hash(parent.spec.template);
  const isCurrent = (set) => set.metadata.labels[revisionLabel] === revision;
  const isAvailable = (set) => availableIn(set) >= parent.spec.replicas;

  const selected = service?.spec.selector[colorLabel] ?? "blue";
  const serving = sets[selected] && service ? selected : (bestColor(sets, isCurrent, isAvailable) ?? selected);
  const other = serving === "blue" ? "green" : "blue";
  if (!sets[serving] || isCurrent(sets[serving])) {
    // Nothing to roll out. The other ReplicaSet, if there still is one, is not in the list, and goes.
    return response(parent, serving, sets, [newReplicaSet(parent, serving, revision)]);
  }

  const kept = scaled(sets[serving], parent.spec);
  if (sets[other] && !isCurrent(sets[other])) {
    // The template has changed again before the switch: what was begun goes, and its color is free when it is gone.
    return response(parent, serving, sets, [kept], "the Pods of an earlier template go first");
  }
  const next = newReplicaSet(parent, other, revision);
  if (!isAvailable(sets[other])) {
    const progress = `${other} has ${availableIn(sets[other])} of ${parent.spec.replicas} Pods available`;
    return response(parent, serving, sets, [kept, next], progress);
  }
  // Both stay in this list, because deletions come before updates: the old Pods go when the Service has switched.
  return response(parent, other, sets, [kept, next]);
}

// bestColor decides what serves if someone has deleted the Service, or the ReplicaSet that it selects.
function bestColor(sets, isCurrent, isAvailable) {
  const colors = Object.keys(sets).sort((a, b) => isCurrent(sets[b]) - isCurrent(sets[a]));
  return colors.find((color) => isAvailable(sets[color])) ?? colors[0];
}

function response({ metadata: { name }, spec }, serving, sets, replicaSets, progress) {
  const available = availableIn(sets[serving]);
  const all = available >= spec.replicas;
  return {
    children: [...replicaSets, newService(name, serving, spec.ports)],
    status: {
      active: serving,
      replicas: sets[serving]?.status?.replicas ?? 0,
      availableReplicas: available,
      selector: Object.entries(podLabels(name, serving)).map(([key, value]) => `${key}=${value}`).join(","),
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
    },
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

function newService(name, color, ports) {
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { selector: podLabels(name, color), ports } };
}

const podLabels = (name, color) => ({ "ctl.example.com/bluegreen": name, [colorLabel]: color });
const colorOf = (set) => set.metadata.labels[colorLabel];
const availableIn = (set) => (set && !set.metadata.deletionTimestamp ? (set.status?.availableReplicas ?? 0) : 0);
