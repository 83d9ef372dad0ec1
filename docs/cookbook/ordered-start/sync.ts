import { deployment, findChild, hashedName, inOrder, job, readyCondition, statefulSet, tearDown } from "libretto";
import type { CompositeRequest, CompositeResponse, KubernetesObject } from "libretto";

interface Shop extends KubernetesObject {
  spec: { image: string };
}

export function sync({ parent, children }: CompositeRequest<Shop>): CompositeResponse {
  const { migration, web, stages } = partsOf(parent);
  // inOrder keeps what exists. The web servers that exist keep their image, too, until the migration to the next one is done.
  const live = findChild(children, web, parent);
  const isMigrated = findChild(children, migration, parent)?.status?.succeeded > 0;
  return {
    status: { conditions: [readyCondition(children, stages.flat(), parent)] },
    children: inOrder(children, stages, parent).map((child) => (child === web && live && !isMigrated ? live : child)),
  };
}

export function finalize({ parent, children }: CompositeRequest<Shop>): CompositeResponse {
  return tearDown(children, partsOf(parent).stages, parent);
}

// partsOf returns the children, and in which order they start.
function partsOf({ metadata: { name }, spec: { image } }: Shop) {
  const container = { name: "shop", image };
  const database = statefulSet({ name: `${name}-db`, podSpec: { containers: [{ name: "db", image: "postgres:18", ports: [5432] }] } });
  const migration = job({ name: hashedName(`${name}-migrate`, image), podSpec: { containers: [{ ...container, args: ["migrate"] }] } });
  const web = deployment({ name: `${name}-web`, podSpec: { containers: [{ ...container, ports: [8080] }] } });
  return { migration, web, stages: [[database], [migration], [web]] };
}
