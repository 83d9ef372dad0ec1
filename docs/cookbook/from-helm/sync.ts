import { configMap, deployment, findChild, hash, hashedName, isReady, job, service } from "libretto";
import type { CompositeRequest, CompositeResponse, KubernetesObject } from "libretto";

interface Blog extends KubernetesObject {
  spec: { image: string; replicas: number; settings: Record<string, string>; ingress?: { host?: string }; storage: string };
}

export function sync({ parent, children }: CompositeRequest<Blog>): CompositeResponse {
  const { name } = parent.metadata;
  const { image, replicas, settings, ingress, storage } = parent.spec;
  const migrate = job({ name: hashedName(`${name}-migrate`, image), podSpec: { containers: [{ name: "migrate", image, args: ["migrate"] }] } });
  const blog = deployment({
    name,
    replicas,
    podAnnotations: { "example.com/settings": hash(settings) },
    podSpec: {
      containers: [
        { name: "blog", image, ports: [8080], envFrom: [{ configMapRef: { name } }], volumeMounts: [{ name: "posts", mountPath: "/posts" }] },
      ],
      volumes: [{ name: "posts", persistentVolumeClaim: { claimName: `${name}-posts` } }],
    },
  });
  // Until the migration is done, the Deployment is as it was before, or not there yet.
  const current = isReady(findChild(children, migrate, parent)) ? blog : findChild(children, blog, parent);
  return {
    children: [
      {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name: `${name}-posts` },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
      },
      configMap({ name, data: settings }),
      migrate,
      ...(current ? [current] : []),
      service({ name, ports: [{ port: 80, targetPort: 8080 }] }),
      ...(ingress?.host ? [ingressOf(name, ingress.host)] : []),
    ],
  };
}

function ingressOf(name: string, host: string) {
  const backend = { service: { name, port: { number: 80 } } };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name },
    spec: { rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }] },
  };
}
