// SnapshotSchedule: each claim that a schedule selects gets a VolumeSnapshot at the beginning of every interval.
// The host calls map for one claim at a time, and tombstone for the snapshots of a claim that is gone.

import { childName, objectsOf, parseDuration } from "libretto";

const apiVersion = "snapshot.storage.k8s.io/v1";

export function map({ parent, input, outputs }) {
  const now = Date.now();
  const interval = parseDuration(parent.spec.interval) * 1000;
  const begin = Math.floor(now / interval) * interval;

  const snapshots = objectsOf(outputs, apiVersion, "VolumeSnapshot");
  const latest = snapshots.filter(isReady).sort(byAge)[0];
  // The latest one that can be used stays, whatever its age, until there is a newer one.
  const kept = snapshots.filter((snapshot) => snapshot === latest || expiry(parent, snapshot) > now);

  const snapshot = newSnapshot(parent, input, begin);
  const isThere = kept.some(({ metadata: { name } }) => name === snapshot.metadata.name);
  return {
    outputs: [...kept.map(asItIs), ...(isThere || !canBeTaken(input) ? [] : [snapshot])],
    resyncAfterSeconds: secondsUntil(now, [begin + interval, ...kept.map((one) => expiry(parent, one))]),
  };
}

// tombstone lets the snapshots outlive their claim, until they expire.
export function tombstone({ parent, outputs }) {
  const now = Date.now();
  const kept = objectsOf(outputs, apiVersion, "VolumeSnapshot").filter((snapshot) => expiry(parent, snapshot) > now);
  return { outputs: kept.map(asItIs), resyncAfterSeconds: secondsUntil(now, kept.map((snapshot) => expiry(parent, snapshot))) };
}

// newSnapshot makes the snapshot of an interval. Its name has the beginning of the interval and not the present
// time: whenever the hook is called within the interval, it is the same snapshot.
function newSnapshot({ metadata: { name }, spec: { volumeSnapshotClassName } }, claim, begin) {
  const time = new Date(begin).toISOString().replace(/[-:]/g, "").slice(0, "20260101T0600".length).toLowerCase();
  return {
    apiVersion,
    kind: "VolumeSnapshot",
    metadata: { name: childName(`${name}-${claim.metadata.name}`, time, 253) },
    spec: { volumeSnapshotClassName, source: { persistentVolumeClaimName: claim.metadata.name } },
  };
}

// secondsUntil returns when the first of the times comes that are not past, or 0 if there is none.
function secondsUntil(now, times) {
  const next = Math.min(...times.filter((time) => time > now));
  return next === Infinity ? 0 : Math.ceil((next - now) / 1000);
}

// asItIs keeps a snapshot. Its name is enough, because snapshots are not updated (controller.yaml gives no strategy).
const asItIs = ({ apiVersion, kind, metadata: { name } }) => ({ apiVersion, kind, metadata: { name } });

const canBeTaken = (claim) => claim.status?.phase === "Bound" && !claim.metadata.deletionTimestamp;
const isReady = (snapshot) => snapshot.status?.readyToUse === true;
const createdAt = (snapshot) => Date.parse(snapshot.metadata.creationTimestamp);
const byAge = (a, b) => createdAt(b) - createdAt(a);
const expiry = (schedule, snapshot) => createdAt(snapshot) + parseDuration(schedule.spec.retention) * 1000;
