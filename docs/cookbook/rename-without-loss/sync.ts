import { deployment, findChild, isReady, service } from "libretto";
import type { CompositeRequest, CompositeResponse, KubernetesObject } from "libretto";

interface Store extends KubernetesObject {
  spec: { image: string; size: string };
}

export function sync({ parent, children }: CompositeRequest<Store>): CompositeResponse {
  const { name } = parent.metadata;
  const { image, size } = parent.spec;

  // Data can't move: a claim of the old scheme stays under its name.
  const oldClaim = claim(`data-${name}`, size);
  const wantedClaim = findChild(children, oldClaim, parent) ? oldClaim : claim(`${name}-data`, size);

  // A Service can: the old one stays until the Pods know the new one, and are ready.
  const ports = [{ port: 80, targetPort: 8080 }];
  const oldService = service({ name: `svc-${name}`, selector: { app: name }, ports });
  const newService = service({ name, ports });
  const app = deployment({
    name,
    podSpec: {
      containers: [{ name: "store", image, env: { HOST: name }, volumeMounts: [{ name: "data", mountPath: "/data" }] }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: wantedClaim.metadata.name } }],
    },
  });
  const running = findChild(children, app, parent);
  const knows = running?.spec.template.spec.containers[0].env?.find((variable: any) => variable.name === "HOST")?.value === name;
  const oldIsNeeded = findChild(children, oldService, parent) && !(knows && isReady(running));
  return {
    status: { claim: wantedClaim.metadata.name, host: oldIsNeeded ? oldService.metadata.name : newService.metadata.name },
    children: [wantedClaim, newService, ...(oldIsNeeded ? [oldService] : []), app],
  };
}

function claim(name: string, storage: string) {
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } };
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name }, spec };
}
