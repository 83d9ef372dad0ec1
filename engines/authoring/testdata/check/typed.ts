import { childKey, findCondition, groupKey, hash, isConditionTrue, matchesLabels, objectsOf, ordinalOf, ownerName, setCondition } from "libretto";
import type {
  CompositeHooks, CompositeRequest, CompositeResponse, CustomizeResponse, DecoratorHooks, DecoratorRequest, DecoratorResponse, Hook, HTTPContext, HTTPReply,
  JSONValue, KubernetesObject, MapFinalizeRequest, MapFinalizeResponse, MapHooks, MapRequest, MapResponse, TombstoneRequest, TombstoneResponse,
} from "libretto";

interface CatSet extends KubernetesObject {
  spec: { replicas: number; selector: { matchLabels: Record<string, string> } };
  status?: { ready: number };
}
interface Pod extends KubernetesObject {
  spec: { nodeName?: string };
}
interface Kinds {
  "Pod.v1": Pod;
  "PersistentVolumeClaim.v1": KubernetesObject;
}

export function sync({ parent, children, parameters }: CompositeRequest<CatSet, Kinds, {}, { image: string }>): CompositeResponse<{ ready: number }> {
  const pods = objectsOf(children, "v1", "Pod");
  const node: string | undefined = pods[0].spec.nodeName;
  const first = children["Pod.v1"][childKey({ metadata: { name: "x" } }, parent, "v1")];
  const texts: (string | undefined)[] = [node, parameters?.image, hash(parent.spec), groupKey("v1", "Pod"), first.metadata.uid, findCondition(parent, "x")?.reason];
  console.log(texts, structuredClone(pods).length, matchesLabels(parent.spec.selector, parent.metadata.labels), ordinalOf("a-1", "a")?.toFixed());
  console.log(setCondition(parent["conditions"], { type: "A", status: "True" }, () => new Date().toISOString()), ownerName(parent) ?? "");
  return {
    status: { ready: pods.filter((pod) => isConditionTrue(pod, "Ready")).length },
    children: [...pods, { apiVersion: "v1", kind: "Pod", metadata: { name: "a", annotations: { a: null } }, spec: {} }],
    resyncAfterSeconds: 2,
  };
}

export const untyped = (request: CompositeRequest): CompositeResponse => ({
  children: Object.values(request.children["Pod.v1"]).map((pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { a: "b" } } })),
  status: { x: request.parent.spec.anything.at.all },
});

export const waits: Hook<CompositeRequest, CompositeResponse<{ ready: number }>> = ({ parent }) =>
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
    const node: string | undefined = objectsOf(children, "v1", "Pod")[0].spec.nodeName;
    return { status: { ready: parent.spec.replicas, node }, children: [] };
  },
  finalize: ({ finalizing }) => ({ children: [], finalized: finalizing }),
  async customize() {
    return customize();
  },
} satisfies CompositeHooks<CatSet, Kinds>;
export const decorator: DecoratorHooks = { sync: decorate };
export const mapping: MapHooks<KubernetesObject, Pod> = { map, tombstone, finalize };
