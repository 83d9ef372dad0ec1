import { deployment, nextTime } from "libretto";
import type { CompositeRequest, CompositeResponse, KubernetesObject } from "libretto";

interface Workspace extends KubernetesObject {
  spec: { image: string; replicas: number; start: string; stop: string };
}

export function sync({ parent }: CompositeRequest<Workspace>): CompositeResponse {
  const { image, replicas, start, stop } = parent.spec;
  const now = new Date();
  const nextStart = due(start, now);
  const nextStop = due(stop, now);

  // Texts of RFC 3339 in UTC are in the order of their times.
  const isOpen = nextStop < nextStart;
  const running = isOpen || parent.metadata.annotations?.["example.com/awake"] === "true";
  const nextChange = isOpen ? nextStop : nextStart;
  return {
    status: { running, nextChange },
    children: [deployment({ name: parent.metadata.name, replicas: running ? replicas : 0, podSpec: { containers: [{ name: "workspace", image }] } })],
    resyncAfterSeconds: Math.ceil((Date.parse(nextChange) - now.getTime()) / 1000),
  };
}

function due(schedule: string, after: Date): string {
  const time = nextTime(schedule, after.toISOString());
  if (time === null) throw new Error(`the schedule "${schedule}" is never due`);
  return time;
}
