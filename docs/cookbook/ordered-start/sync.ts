import { deployment, findChild, hashedName, inOrder, job, readyCondition, statefulSet, tearDown } from "libretto";
import type { CompositeRequest, CompositeResponse, KubernetesObject } from "libretto";

interface Shop extends KubernetesObject {
  spec: { image: string };
}

// stages are the children, in the order in which they start.
function stages({ metadata: { name }, spec: { image } }: Shop) {
  const container = { name: "shop", image };
  return [
    [statefulSet({ name: `${name}-db`, podSpec: { containers: [{ name: "db", image: "postgres:18", ports: [5432] }] } })],
    [job({ name: hashedName(`${name}-migrate`, image), podSpec: { containers: [{ ...container, args: ["migrate"] }] } })],
    [deployment({ name: `${name}-web`, podSpec: { containers: [{ ...container, ports: [8080] }] } })],
  ];
}

export function sync({ parent, children }: CompositeRequest<Shop>): CompositeResponse {
  const all = stages(parent);
  const now = inOrder(children, all, parent);
  // inOrder keeps what exists. The web servers that exist keep their image, too, until the migration to the next one is done.
  const [[migration], [web]] = all.slice(1);
  const live = findChild(children, web, parent);
  const isMigrated = findChild(children, migration, parent)?.status?.succeeded > 0;
  return {
    status: { conditions: [readyCondition(children, all.flat(), parent)] },
    children: now.map((child) => (child === web && live && !isMigrated ? live : child)),
  };
}

export function finalize({ parent, children }: CompositeRequest<Shop>): CompositeResponse {
  return tearDown(children, stages(parent), parent);
}
