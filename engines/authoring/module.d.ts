
/** Any JSON value. */
export type JSONValue = null | boolean | number | string | JSONValue[] | { [key: string]: JSONValue };

/**
 * An object of a kind as it is in the cluster. It is for types whose apiVersion, kind and metadata
 * are optional, such as those of the package kubernetes-types.
 */
export type Observed<Kind extends { apiVersion?: string; kind?: string; metadata?: object }> = Omit<Kind, "apiVersion" | "kind" | "metadata"> & {
  apiVersion: NonNullable<Kind["apiVersion"]>;
  kind: NonNullable<Kind["kind"]>;
  metadata: ObjectMeta;
};

/** A desired object of a kind, such as Desired<Deployment>. Fields that it omits keep their values in the cluster. */
export type Desired<Kind extends KubernetesObject> = {
  apiVersion: Kind["apiVersion"];
  kind: Kind["kind"];
  metadata: DesiredMeta;
} & Optional<Omit<Kind, "apiVersion" | "kind" | "metadata">>;

/** A value of which every field may be omitted, in lists and objects too. */
export type Optional<Value> = Value extends (infer Item)[] ? Optional<Item>[] : Value extends object ? { [Field in keyof Value]?: Optional<Value[Field]> } : Value;

/** A hook: a function of a request, which may be async as long as it settles by itself. */
export type Hook<Request, Response> = (request: Request) => Response | Promise<Response>;

/**
 * The hooks of a CompositeController as one object, for a default export:
 * export default { sync({ parent }) { ... } } satisfies CompositeHooks
 */
export interface CompositeHooks<Parent extends KubernetesObject = KubernetesObject, Children extends object = ObjectKinds, Related extends object = ObjectKinds, Parameters = any> {
  sync: Hook<CompositeRequest<Parent, Children, Related, Parameters>, CompositeResponse>;
  finalize?: Hook<CompositeRequest<Parent, Children, Related, Parameters>, CompositeResponse>;
  customize?: Hook<CustomizeRequest<Parent, Parameters>, CustomizeResponse>;
}

/** The hooks of a DecoratorController as one object, for a default export. */
export interface DecoratorHooks<Target extends KubernetesObject = KubernetesObject, Attachments extends object = ObjectKinds, Related extends object = ObjectKinds, Parameters = any> {
  sync: Hook<DecoratorRequest<Target, Attachments, Related, Parameters>, DecoratorResponse>;
  finalize?: Hook<DecoratorRequest<Target, Attachments, Related, Parameters>, DecoratorResponse>;
  customize?: Hook<CustomizeRequest<Target, Parameters>, CustomizeResponse>;
}

/** The hooks of a MapController as one object, for a default export. */
export interface MapHooks<Parent extends KubernetesObject = KubernetesObject, Input extends KubernetesObject = KubernetesObject, Outputs extends object = ObjectKinds, Related extends object = ObjectKinds, Parameters = any> {
  map: Hook<MapRequest<Parent, Input, Outputs, Related, Parameters>, MapResponse>;
  tombstone?: Hook<TombstoneRequest<Parent, Outputs, Related, Parameters>, TombstoneResponse>;
  finalize?: Hook<MapFinalizeRequest<Parent, Outputs, Related, Parameters>, MapFinalizeResponse>;
  customize?: Hook<CustomizeRequest<Parent, Parameters>, CustomizeResponse>;
}

/** The name of a kind's group in a request: "Pod.v1", "Deployment.apps/v1". */
export function groupKey(apiVersion: string, kind: string): string;

/**
 * The key of a child in its group. A child that has no namespace yet gets that of its
 * parent, as when it is written. The version is that of the hook. Without a parent it is
 * the key that the object has by itself, which is that of a related object in version v2.
 */
export function childKey(
  child: { metadata: { name: string; namespace?: string | null } },
  parent?: { metadata: { namespace?: string | null } } | null,
  version?: "v1" | "v2",
): string;

/**
 * The objects of one kind in children, attachments, outputs or related, by their keys. A
 * group that is not there is an error: an empty list would look like having none.
 */
export function objectsOf<Groups extends { [group: string]: { [key: string]: any } }, Version extends string, Kind extends string>(
  groups: Groups,
  apiVersion: Version,
  kind: Kind,
): Groups[`${Kind}.${Version}`][string][];

/** The name of the owner that manages the object (its controller reference), or null. */
export function ownerName(object: { metadata: { ownerReferences?: OwnerReference[] | null } }): string | null;

/** The condition of that type in the object's status, or null. */
export function findCondition(object: { status?: any; [field: string]: any } | null | undefined, type: string): Condition | null;

/** Whether the object has the condition with status "True". */
export function isConditionTrue(object: { status?: any; [field: string]: any } | null | undefined, type: string): boolean;

/**
 * The conditions with one of them set, in its place or at the end; the list that is given
 * stays as it is. The time of the last transition is kept if the status is what it was. If
 * not, it is now, in RFC 3339, or there is none without now. A function for now is only
 * called when it is needed, so that it may read the clock: JavaScript alone has that.
 */
export function setCondition(
  conditions: Condition[] | null | undefined,
  condition: Omit<Condition, "lastTransitionTime">,
  now?: string | (() => string) | null,
): Condition[];

/**
 * Whether labels match a selector. An empty selector matches all labels, and one that is
 * null or absent matches none.
 */
export function matchesLabels(
  selector: LabelSelector | null | undefined,
  labels: { [key: string]: string } | null | undefined,
): boolean;

/** The number n if the name is base-n, such as that of a pod of a StatefulSet, or else null. */
export function ordinalOf(name: string, base: string): number | null;

/**
 * A hash of a JSON value, such as a pod template: 16 hexadecimal digits, which do for a label
 * and for a part of a name. The order of keys makes no difference.
 */
export function hash(value: unknown): string;

declare global {
  interface Console {
    debug(...values: any[]): void;
    error(...values: any[]): void;
    info(...values: any[]): void;
    log(...values: any[]): void;
    trace(...values: any[]): void;
    warn(...values: any[]): void;
  }
  /** Writes to the host's log. */
  var console: Console;
  /** A copy that shares nothing with the value. */
  function structuredClone<T>(value: T): T;
}
