// The Kubernetes API at the backend's address, as far as the page writes and looks up objects.
import { Backend } from "./backend.ts";
import { KubeObject, Item } from "./model.ts";

export class Kube {
  private groups = new Map<string, Promise<any[]>>();

  constructor(private backend: Backend) {}

  private resources(apiVersion: string, anew: boolean): Promise<any[]> {
    if (anew || !this.groups.has(apiVersion)) {
      const list = this.backend.request("GET", (apiVersion.includes("/") ? "/apis/" : "/api/") + apiVersion).then((l) => l.resources ?? []);
      list.catch(() => this.groups.delete(apiVersion));
      this.groups.set(apiVersion, list);
    }
    return this.groups.get(apiVersion)!;
  }

  /** Returns the path of an object's resource, and whether its status is a resource of its own. */
  async resource(o: KubeObject): Promise<{ path: string; status: boolean }> {
    for (const anew of [false, true]) {
      const list = await this.resources(o.apiVersion, anew);
      const found = list.find((r) => r.kind === o.kind && !r.name.includes("/"));
      if (!found) continue;
      const namespace = found.namespaced ? `/namespaces/${encodeURIComponent(o.metadata.namespace || "default")}` : "";
      const path = (o.apiVersion.includes("/") ? "/apis/" : "/api/") + o.apiVersion + namespace + "/" + found.name;
      return { path, status: list.some((r) => r.name === found.name + "/status") };
    }
    throw new Error(`${o.apiVersion} ${o.kind} is no kind of this cluster: is its CustomResourceDefinition in the folder?`);
  }

  async create(o: KubeObject): Promise<KubeObject> {
    check(o);
    return this.backend.request("POST", (await this.resource(o)).path, o);
  }

  async update(o: KubeObject): Promise<KubeObject> {
    check(o);
    return this.backend.request("PUT", `${(await this.resource(o)).path}/${encodeURIComponent(o.metadata.name)}`, o);
  }

  async remove(o: KubeObject): Promise<void> {
    await this.backend.request("DELETE", `${(await this.resource(o)).path}/${encodeURIComponent(o.metadata.name)}`);
  }

  /** Returns the events about an object, the newest first. */
  async events(item: Item): Promise<any[]> {
    const { namespace, uid } = item.object.metadata;
    const list = await this.backend.request("GET", `/api/v1/namespaces/${namespace || "default"}/events`);
    const when = (e: any) => e.series?.lastObservedTime || e.lastTimestamp || e.eventTime || e.metadata.creationTimestamp || "";
    return (list.items ?? []).filter((e: any) => e.involvedObject?.uid === uid).map((e: any) => ({ ...e, when: when(e) }))
      .sort((a: any, b: any) => (a.when < b.when ? 1 : -1));
  }

  /** Returns the files of a script revision of a definition, as the host archives it, or undefined if that is gone. */
  async revision(definition: Item, id: string): Promise<Record<string, string> | undefined> {
    const selector = encodeURIComponent("metacontroller.k8s.io/scripts-of=" + definition.uid);
    const list = await this.backend.request("GET", `/apis/apps/v1/controllerrevisions?labelSelector=${selector}`);
    const items: any[] = list.items ?? [], data = items.find((r) => r.metadata.name.endsWith("-" + id))?.data;
    if (!data?.parts) return data?.files;
    const files: Record<string, string> = {};
    for (const sum of data.parts) {
      const part = items.find((r) => r.metadata.labels?.["metacontroller.k8s.io/script-part"] === sum.slice(0, 16));
      if (!part) throw new Error("a part of it is gone");
      for (const [path, text] of Object.entries(await unpack(part.data.gzip))) files[path] = (files[path] ?? "") + text;
    }
    return files;
  }
}

/** Returns the files that are compressed in a part of a large revision. A file that is cut goes on in the next part. */
function unpack(gzip: string): Promise<Record<string, string>> {
  const packed = new Blob([Uint8Array.from(atob(gzip), (c) => c.charCodeAt(0))]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

function check(o: KubeObject): void {
  const missing = ["apiVersion", "kind"].find((field) => typeof o?.[field] !== "string") ?? (o.metadata?.name || o.metadata?.generateName
    ? "" : "metadata.name");
  if (missing) throw new Error(`${missing} is missing`);
}

const ofServer = ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences", "selfLink",
  "deletionTimestamp",
  "deletionGracePeriodSeconds", "finalizers"];

/** Returns what a person would write of an object: another one of its kind. */
export function example(o: KubeObject): KubeObject {
  const { status, ...rest } = structuredClone(o), annotations = rest.metadata.annotations;
  for (const field of ofServer) delete rest.metadata[field];
  if (annotations) delete annotations["kubectl.kubernetes.io/last-applied-configuration"];
  if (annotations && Object.keys(annotations).length === 0) delete rest.metadata.annotations;
  return rest as KubeObject;
}

/** Returns an object with the fields that the schema of a CustomResourceDefinition requires, or has a default for. */
export function skeleton(crd: KubeObject): KubeObject {
  const version = crd.spec.versions.find((v: any) => v.storage) ?? crd.spec.versions[0];
  const metadata: any = { name: "example" };
  if (crd.spec.scope === "Namespaced") metadata.namespace = "default";
  const schema = version.schema?.openAPIV3Schema?.properties?.spec;
  return { apiVersion: `${crd.spec.group}/${version.name}`, kind: crd.spec.names.kind, metadata, spec: schema ? sample(schema) : {} };
}

function sample(schema: any): any {
  if (schema.default !== undefined) return schema.default;
  if (schema.example !== undefined) return schema.example;
  if (schema.enum?.length) return schema.enum[0];
  if (schema.type === "object" || schema.properties) {
    const names = Object.keys(schema.properties ?? {}), wanted: string[] = schema.required?.length ? schema.required : names.slice(0, 3);
    return Object.fromEntries(wanted.filter((n) => names.includes(n)).map((n) => [n, sample(schema.properties[n])]));
  }
  return schema.type === "array" ? [] : schema.type === "integer" || schema.type === "number" ? schema.minimum ?? 1
    : schema.type === "boolean" ? false : "";
}
