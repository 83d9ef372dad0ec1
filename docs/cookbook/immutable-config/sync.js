import { configMap, deployment, findChild, hashedName, isReady, objectsOf, readyCondition } from "libretto";

export function sync({ parent, children }) {
  const { name } = parent.metadata;
  const { image, settings } = parent.spec;
  const current = configMap({ name: hashedName(name, settings), data: settings, immutable: true });
  const gateway = deployment({
    name,
    podSpec: { containers: [{ name: "gateway", image, envFrom: [{ configMapRef: { name: current.metadata.name } }] }] },
  });

  // The Deployment is done if it has the present settings, and is ready with them.
  const live = findChild(children, gateway, parent);
  const used = live?.spec.template.spec.containers[0].envFrom?.[0].configMapRef.name;
  const isDone = used === current.metadata.name && isReady(live);
  const old = objectsOf(children, "v1", "ConfigMap").filter(({ metadata }) => metadata.name !== current.metadata.name);
  return {
    status: { settings: current.metadata.name, conditions: [readyCondition(children, [current, gateway], parent)] },
    children: [current, ...(isDone ? [] : old), gateway],
  };
}
