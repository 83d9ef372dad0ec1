// WebApp: a Deployment, a Service, and an Ingress if one is wanted.
import { childKey, groupKey } from "libretto";
import type { CompositeRequest, CompositeResponse, KubernetesObject } from "libretto";

interface WebApp extends KubernetesObject {
  spec: {
    image: string;
    replicas: number;
    port: number;
    ingress?: { host: string; className?: string; tlsSecretName?: string };
  };
}

// The Deployment says which generation of the WebApp it was made from. Until it is the present one, its status is about an old spec.
const madeFrom = "ctl.example.com/generation";

export function sync({ parent, children }: CompositeRequest<WebApp>): CompositeResponse {
  const desired = [deployment(parent), service(parent), ...ingress(parent)];
  const observed = (child: KubernetesObject): any => children[groupKey(child.apiVersion, child.kind)][childKey(child, parent)];

  const live = observed(desired[0]);
  const conditions = [readyCondition(parent, live)];
  if (parent.spec.ingress) conditions.push(exposedCondition(observed(desired[2])));
  return {
    status: { replicas: live?.status?.replicas ?? 0, readyReplicas: live?.status?.readyReplicas ?? 0, url: urlOf(parent), conditions },
    children: desired,
  };
}

function readyCondition({ metadata, spec }: WebApp, live: any) {
  const { observedGeneration, replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = live?.status ?? {};
  const rolledOut = live?.metadata.annotations?.[madeFrom] === String(metadata.generation) &&
    observedGeneration === live.metadata.generation && updatedReplicas === spec.replicas && replicas === updatedReplicas;
  if (!rolledOut) return condition("Ready", false, "RollingOut", `${updatedReplicas} of ${spec.replicas} replicas are up to date`);
  if (availableReplicas < spec.replicas) {
    return condition("Ready", false, "ReplicasUnavailable", `${availableReplicas} of ${spec.replicas} replicas are available`);
  }
  return condition("Ready", true, "AllReplicasAvailable", `${spec.replicas} of ${spec.replicas} replicas are available`);
}

function exposedCondition(live: any) {
  return live?.status?.loadBalancer?.ingress?.length > 0
    ? condition("Exposed", true, "AddressAssigned", "the Ingress has an address")
    : condition("Exposed", false, "NoAddress", "no ingress controller has given the Ingress an address yet");
}

function condition(type: string, status: boolean, reason: string, message: string) {
  return { type, status: status ? "True" : "False", reason, message };
}

function urlOf({ spec: { ingress } }: WebApp) {
  return ingress ? `${ingress.tlsSecretName ? "https" : "http"}://${ingress.host}/` : undefined;
}

function deployment({ metadata: { name, generation }, spec }: WebApp) {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, annotations: { [madeFrom]: String(generation) } },
    spec: {
      replicas: spec.replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
          containers: [{
            name: "app",
            image: spec.image,
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
            ports: [{ name: "http", containerPort: spec.port }],
            readinessProbe: { httpGet: { path: "/", port: "http" } },
          }],
        },
      },
    },
  };
}

function service({ metadata: { name } }: WebApp) {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ name: "http", port: 80, targetPort: "http" }] },
  };
}

function ingress({ metadata: { name }, spec: { ingress } }: WebApp) {
  if (!ingress) return [];
  const { host, className, tlsSecretName } = ingress;
  return [{
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name },
    spec: {
      ingressClassName: className,
      tls: tlsSecretName ? [{ hosts: [host], secretName: tlsSecretName }] : undefined,
      rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name, port: { name: "http" } } } }] } }],
    },
  }];
}
