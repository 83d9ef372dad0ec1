// Cleanup: deletes ConfigMaps that nothing has used for a while. The host adopts the ConfigMaps that spec.selector matches and that nothing
// else controls, so that they are children: those that are not in the answer are deleted.

import { objectsOf } from "libretto";

const unusedSince = "ctl.example.com/unused-since";

// users are the resources whose Pods may use a ConfigMap, each with the path to the spec of a Pod.
const users = [
  { apiVersion: "v1", resource: "pods", kind: "Pod", podSpec: (o) => o.spec },
  { apiVersion: "apps/v1", resource: "deployments", kind: "Deployment", podSpec: (o) => o.spec.template.spec },
  { apiVersion: "apps/v1", resource: "statefulsets", kind: "StatefulSet", podSpec: (o) => o.spec.template.spec },
  { apiVersion: "apps/v1", resource: "daemonsets", kind: "DaemonSet", podSpec: (o) => o.spec.template.spec },
  { apiVersion: "batch/v1", resource: "cronjobs", kind: "CronJob", podSpec: (o) => o.spec.jobTemplate.spec.template.spec },
];

export function customize({ parent }) {
  const { namespace } = parent.metadata;
  return { relatedResources: users.map(({ apiVersion, resource }) => ({ apiVersion, resource, namespace })) };
}

export function sync({ parent, children, related }) {
  const used = new Set(users.flatMap(({ apiVersion, kind, podSpec }) =>
    objectsOf(related, apiVersion, kind).flatMap((object) => configMapsOf(podSpec(object)))));
  const now = Date.now();
  const observed = objectsOf(children, "v1", "ConfigMap");
  const unused = observed
    .filter(({ metadata }) => !used.has(metadata.name))
    // The time is kept on the ConfigMap itself, as it is not to be had from anywhere else.
    .map(({ metadata }) => ({ metadata, since: Date.parse(metadata.annotations?.[unusedSince]) || now }))
    .map((entry) => ({ ...entry, left: entry.since + parent.spec.ttlSeconds * 1000 - now }));
  const waiting = unused.filter(({ left }) => left > 0);
  const expired = unused.filter(({ left }) => left <= 0);

  return {
    status: { configMaps: observed.length, unused: unused.length },
    children: [
      ...observed.filter(({ metadata }) => used.has(metadata.name)).map(({ metadata }) => keep(parent, metadata)),
      ...waiting.map(({ metadata, since }) => keep(parent, metadata, { [unusedSince]: new Date(since).toISOString() })),
    ],
    events: expired.map(({ metadata, since }) => ({
      reason: "Unused",
      message: `ConfigMap ${metadata.name} has not been used since ${new Date(since).toISOString()}, and is deleted`,
    })),
    ...(waiting.length > 0 && { resyncAfterSeconds: Math.min(...waiting.map(({ left }) => left)) / 1000 }),
  };
}

// keep leaves the data alone: only what is in the answer is written.
function keep({ spec }, { name }, annotations) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: spec.selector.matchLabels, annotations } };
}

function configMapsOf({ volumes = [], initContainers = [], containers }) {
  const ofVolumes = volumes.flatMap(({ configMap, projected }) => [configMap, ...(projected?.sources ?? []).map((s) => s.configMap)]);
  const ofContainers = [...initContainers, ...containers].flatMap(({ env = [], envFrom = [] }) =>
    [...env.map((e) => e.valueFrom?.configMapKeyRef), ...envFrom.map((e) => e.configMapRef)]);
  return [...ofVolumes, ...ofContainers].flatMap((reference) => reference?.name ?? []);
}
