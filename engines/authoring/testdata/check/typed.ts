import {
  addQuantities, childKey, childName, compareQuantities, configMap, deployment, findChild, findCondition, formatDuration, formatQuantity, groupKey, hash,
  hashedName, inOrder, isConditionTrue, isReady, job, matchesLabels, merge, needs, objectsOf, ordinalOf, ownerName, parseDuration, parseQuantity, pod, podSpec,
  readyCondition, recommendedLabels, service, setCondition, statefulSet, tearDown, waiting, wantedOrdinals, withLabels,
} from "libretto";
import type {
  Desired,
  CompositeHooks, CompositeRequest, CompositeResponse, CustomizeResponse, DecoratorHooks, DecoratorRequest, DecoratorResponse, Hook, HTTPContext, HTTPReply,
  JSONValue, KubernetesObject, MapFinalizeRequest, MapFinalizeResponse, MapHooks, MapRequest, MapResponse, TombstoneRequest, TombstoneResponse,
  WaitingCompositeResponse,
} from "libretto";

interface CatSet extends KubernetesObject {
  spec: { replicas: number; selector: { matchLabels: Record<string, string> } };
  status?: { ready: number };
}
interface Pod extends KubernetesObject {
  apiVersion: "v1";
  kind: "Pod";
  spec: { nodeName?: string };
}
interface Kinds {
  "Pod.v1": Pod;
  "PersistentVolumeClaim.v1": KubernetesObject;
}

export function sync({ parent, children, parameters }: CompositeRequest<CatSet, Kinds, {}, { image: string }>): CompositeResponse<{ ready: number }> {
  const pods = objectsOf(children, "v1", "Pod");
  const node: string | undefined = pods[0]?.spec.nodeName;
  const first = children["Pod.v1"][childKey({ metadata: { name: "x" } }, parent, "v1")];
  const texts: (string | undefined)[] = [node, parameters?.image, hash(parent.spec), groupKey("v1", "Pod"), first?.metadata.uid, findCondition(parent, "x")?.reason];
  console.log(texts, structuredClone(pods).length, matchesLabels(parent.spec.selector, parent.metadata.labels), ordinalOf("a-1", "a")?.toFixed());
  console.log(setCondition(parent["conditions"], { type: "A", status: "True" }, () => new Date().toISOString()), ownerName(parent) ?? "");
  return {
    status: { ready: pods.filter((pod) => isConditionTrue(pod, "Ready")).length },
    children: [...pods, { apiVersion: "v1", kind: "Pod", metadata: { name: "a", annotations: { a: null } }, spec: {} }],
    resyncAfterSeconds: 2,
  };
}

export const untyped = (request: CompositeRequest): CompositeResponse => ({
  children: Object.values(request.children["Pod.v1"] ?? {}).map((pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { a: "b" } } })),
  status: { x: request.parent.spec.anything.at.all },
});

export const waits: Hook<CompositeRequest, CompositeResponse<{ ready: number }> | WaitingCompositeResponse<{ ready: number }>> = ({ parent }) =>
  parent.spec.secret
    ? { status: { ready: 0 }, children: [], events: [{ type: "Warning", reason: "Late", message: "at last" }] }
    : { status: { ready: 0 }, waiting: { reason: "SecretMissing", message: "there is no Secret yet" }, events: null };

export const http: Hook<HTTPContext<CompositeRequest<CatSet>>, HTTPReply<CompositeResponse>> = async ({ request }) => ({
  status: 200,
  body: { children: [], status: { n: request.body.parent.spec.replicas } },
});

export const decorate: Hook<DecoratorRequest, DecoratorResponse> = ({ object }) => ({ attachments: [], labels: { a: null, b: object.metadata.name } });

export const map: Hook<MapRequest<KubernetesObject, Pod>, MapResponse> = ({ input, mapKey, outputs }) => ({
  outputs: objectsOf(outputs, "v1", "ConfigMap").filter(() => input.spec.nodeName && mapKey),
});
export const tombstone: Hook<TombstoneRequest, TombstoneResponse> = ({ outputs }) => ({ outputs: objectsOf(outputs, "v1", "ConfigMap") });
export const finalize: Hook<MapFinalizeRequest, MapFinalizeResponse> = ({ finalizing }) => ({ outputs: [], finalized: finalizing });

export const customize = (): CustomizeResponse => ({
  relatedResources: [{ apiVersion: "v1", resource: "pods", labelSelector: { matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] } }],
});

export const modern: JSONValue = { a: [1, null, [1].at(0) ?? 0, ..."a".matchAll(/a/g)].toSorted() as JSONValue, b: Object.hasOwn({}, "a") };

export default {
  sync({ parent, children }) {
    const node: string | undefined = objectsOf(children, "v1", "Pod")[0]?.spec.nodeName;
    return { status: { ready: parent.spec.replicas, node }, children: [] };
  },
  finalize: ({ finalizing }) => ({ children: [], finalized: finalizing }),
  async customize() {
    return customize();
  },
} satisfies CompositeHooks<CatSet, Kinds>;
export const decorator: DecoratorHooks = { sync: decorate };
export const mapping: MapHooks<KubernetesObject, Pod> = { map, tombstone, finalize };

// Any hook may wait, with a response of its own type.
export const waitingHooks = {
  map: () => waiting("Late", "it is not there yet"),
  tombstone: () => waiting("Late", "it is not there yet"),
  finalize: () => ({ ...waiting("Late", "it is not there yet"), status: {}, outputs: null }),
} satisfies MapHooks;
export const waitingDecorator: DecoratorHooks = { sync: () => ({ ...waiting("Late", "it is not there yet"), labels: { a: "b" } }) };

// A response is an interface with its list, which scripts extend, implement, and read.
interface Answer extends CompositeResponse<{ ready: number }> {
  children: Desired<Pod>[];
}
export class Answers implements CompositeResponse {
  children: CompositeResponse["children"][number][] = [];
}
const answer = (): Answer => ({ status: { ready: 0 }, children: [] });
export const more = (): CompositeResponse => ({ ...answer(), finalized: answer().children.length > 0 });

interface Deployment extends KubernetesObject {
  apiVersion: "apps/v1";
  kind: "Deployment";
  spec: { replicas: number };
}

export function library({ parent, children, related }: CompositeRequest<CatSet, Kinds>): CompositeResponse<any, Desired<Deployment> | Desired<Pod>> | WaitingCompositeResponse {
  const labels = recommendedLabels({ name: "web", partOf: null });
  const secret = Object.values(related["Secret.v1"] ?? {})[0];
  const answer = needs(secret, "Secret a") ?? (isReady(secret) ? null : waiting("Odd", "it is"));
  if (answer) {
    return { ...answer, status: { conditions: setCondition(parent["conditions"], readyCondition(children, [], parent)) } };
  }
  const web = deployment({ name: childName("web", 1), labels, replicas: wantedOrdinals(objectsOf(children, "v1", "Pod"), "web", 2).length, podSpec: { containers: [{ name: "a", image: "b", ports: [80], env: { A: 1, B: { secretKeyRef: {} } } }] } });
  const rest = [
    statefulSet({ name: "a", podSpec: podSpec({ containers: [{ name: "a", image: "b" }] }), serviceName: "b" }), job({ name: hashedName("a", labels), podSpec: { containers: [] } }),
    service({ name: "a", ports: [80, { port: 1 }] }), configMap({ name: "a", data: { a: "b" }, immutable: true }),
  ];
  const units: (string | number)[] = [
    parseQuantity("1Gi") + parseDuration("1s"), formatQuantity(1, "BinarySI"), formatDuration(3), compareQuantities("1", 2), addQuantities("1", 2),
  ];
  const stages = [[statefulSet({ name: "a", podSpec: { containers: [] } })], [job({ name: "a", podSpec: { containers: [] } })], [web]]; // of several kinds
  console.log(inOrder(children, stages, parent)[0]?.kind, inOrder(children, [rest], parent), tearDown(children, stages, parent).finalized, units, findChild(children, rest[0]!, parent)?.status);
  const one: Pod = merge({ apiVersion: "v1", kind: "Pod", metadata: { name: "a", uid: "", namespace: "" } } as Pod, { spec: {} });
  return { status: { one }, children: [withLabels(web, { a: "b" }), pod({ name: "a", podSpec: { containers: [] } })] };
}

// Scale is as in the package kubernetes-types.
interface Scale {
  apiVersion?: "autoscaling/v1";
  kind?: "Scale";
  metadata?: { name?: string; annotations?: { [name: string]: string } };
  spec?: { replicas?: number };
}

export function ofPackage({ parent }: CompositeRequest): CompositeResponse<any, Scale> {
  const web: Scale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: parent.metadata.name }, spec: { replicas: 1 } };
  return { children: [web] };
}

export function ofPackageDesired({ parent }: CompositeRequest): CompositeResponse {
  const web: Desired<Scale> = {
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: { name: parent.metadata.name, annotations: { note: parent.metadata.annotations?.note, old: null }, labels: { app: parent.metadata.labels?.app } },
    spec: { replicas: 1 },
  };
  return { children: [web] };
}
