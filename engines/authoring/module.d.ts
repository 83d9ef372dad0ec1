
/** Any JSON value. */
export type JSONValue = null | boolean | number | string | JSONValue[] | { [key: string]: JSONValue };

/** An object of a type whose apiVersion, kind and metadata may be optional, such as those of the package kubernetes-types. */
export type TypedObject = { apiVersion?: string; kind?: string; metadata?: object };

/**
 * An object of a kind as it is in the cluster. It is for types whose apiVersion, kind and metadata
 * are optional, such as those of the package kubernetes-types.
 */
export type Observed<Kind extends TypedObject> = Omit<Kind, "apiVersion" | "kind" | "metadata"> & {
  apiVersion: NonNullable<Kind["apiVersion"]>;
  kind: NonNullable<Kind["kind"]>;
  metadata: ObjectMeta;
};

/** A desired object of a kind, such as Desired<Deployment>. Fields that it omits keep their values in the cluster. */
export type Desired<Kind extends TypedObject> = {
  apiVersion: NonNullable<Kind["apiVersion"]>;
  kind: NonNullable<Kind["kind"]>;
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
  sync: Hook<CompositeRequest<Parent, Children, Related, Parameters>, CompositeResponse | WaitingCompositeResponse>;
  finalize?: Hook<CompositeRequest<Parent, Children, Related, Parameters>, CompositeResponse | WaitingCompositeResponse>;
  customize?: Hook<CustomizeRequest<Parent, Parameters>, CustomizeResponse>;
}

/** The hooks of a DecoratorController as one object, for a default export. */
export interface DecoratorHooks<Target extends KubernetesObject = KubernetesObject, Attachments extends object = ObjectKinds, Related extends object = ObjectKinds, Parameters = any> {
  sync: Hook<DecoratorRequest<Target, Attachments, Related, Parameters>, DecoratorResponse | WaitingDecoratorResponse>;
  finalize?: Hook<DecoratorRequest<Target, Attachments, Related, Parameters>, DecoratorResponse | WaitingDecoratorResponse>;
  customize?: Hook<CustomizeRequest<Target, Parameters>, CustomizeResponse>;
}

/** The hooks of a MapController as one object, for a default export. */
export interface MapHooks<Parent extends KubernetesObject = KubernetesObject, Input extends KubernetesObject = KubernetesObject, Outputs extends object = ObjectKinds, Related extends object = ObjectKinds, Parameters = any> {
  map: Hook<MapRequest<Parent, Input, Outputs, Related, Parameters>, MapResponse | WaitingMapResponse>;
  tombstone?: Hook<TombstoneRequest<Parent, Outputs, Related, Parameters>, TombstoneResponse | WaitingTombstoneResponse>;
  finalize?: Hook<MapFinalizeRequest<Parent, Outputs, Related, Parameters>, MapFinalizeResponse | WaitingMapFinalizeResponse>;
  customize?: Hook<CustomizeRequest<Parent, Parameters>, CustomizeResponse>;
}

// Objects of requests

/**
 * The name of a kind's group in children, attachments, outputs and related.
 * @example
 * groupKey("apps/v1", "Deployment")
 * // "Deployment.apps/v1"
 */
export function groupKey(apiVersion: string, kind: string): string;

/**
 * The key of a child in its group. A child without a namespace has that of its parent, as
 * when it is written. The version is that of the hook, "v2" by default. Without a parent it
 * is the key of a related object in version v2. findChild is the short way to a child.
 * @example
 * childKey({ metadata: { name: "web-0" } }, { metadata: { name: "web", namespace: "shop" } })
 * // "shop/web-0"
 */
export function childKey(
  child: { metadata: { name: string; namespace?: string | null } },
  parent?: { metadata: { namespace?: string | null } } | null,
  version?: "v1" | "v2",
): string;

/** The kinds of groups such as "Pod.v1" that are of a version. */
export type KindOf<Group, Version extends string> = Group extends `${infer Kind}.${Version}` ? Kind : never;

/**
 * The objects of one kind in children, attachments, outputs or related, by their keys. A
 * group that is not there is an error: an empty list would look like having none. Also in CEL.
 * @example
 * objectsOf({"Pod.v1": {"shop/b": {"kind": "Pod", "spec": {}}}}, "v1", "Pod")
 * // [{"kind": "Pod", "spec": {}}]
 */
export function objectsOf<Groups extends { [group: string]: { [key: string]: any } }, Version extends string, Kind extends string>(
  groups: Groups,
  apiVersion: Version,
  kind: Kind & (string extends keyof Groups ? string : KindOf<keyof Groups, Version>),
): Groups[`${Kind}.${Version}`][string][];

/**
 * The object in the cluster that is this child of the parent, or null if there is none. A
 * group that is not there is an error. Also in CEL.
 * @example
 * findChild({"Job.batch/v1": {}}, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "init"}}, {"metadata": {"name": "web", "namespace": "shop"}})
 * // null
 */
export function findChild(
  groups: { [group: string]: { [key: string]: any } },
  child: DesiredObject,
  parent: { metadata: { namespace?: string | null } } | null,
): any;

/**
 * The name of the owner that manages the object (its controller reference), or null.
 * @example
 * ownerName({ metadata: { ownerReferences: [{ kind: "Site", name: "shop", controller: true }] } })
 * // "shop"
 */
export function ownerName(object: { metadata: { ownerReferences?: OwnerReference[] | null } }): string | null;

/**
 * Whether labels match a selector. An empty selector matches all labels, and one that is
 * null or absent matches none. A selector with other fields, such as that of a Service, is
 * an error.
 * @example
 * matchesLabels({ matchLabels: { app: "web" } }, { app: "web", tier: "front" })
 * // true
 */
export function matchesLabels(
  selector: LabelSelector | null | undefined,
  labels: { [key: string]: string } | null | undefined,
): boolean;

// Conditions and readiness

/**
 * The condition of that type in the object's status, or null. Also in CEL.
 * @example
 * findCondition({"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Starting"}]}}, "Ready")
 * // {"type": "Ready", "status": "False", "reason": "Starting"}
 */
export function findCondition(object: { status?: any; [field: string]: any } | null | undefined, type: string): Condition | null;

/**
 * Whether the object has the condition with status "True". Also in CEL.
 * @example
 * isConditionTrue({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "Ready")
 * // true
 */
export function isConditionTrue(object: { status?: any; [field: string]: any } | null | undefined, type: string): boolean;

/**
 * The conditions with one of them set, in its place or at the end; the list that is given
 * stays as it is. The time of the last transition is kept if the status is what it was. If
 * not, it is now, in RFC 3339, or there is none without now. A function for now is only
 * called when it is needed, so that it may read the clock: JavaScript alone has that. Type and
 * status must be strings. Also in CEL.
 * @example
 * setCondition([{"type": "Ready", "status": "False"}], {"type": "Ready", "status": "True", "reason": "Ready"})
 * // [{"type": "Ready", "status": "True", "reason": "Ready"}]
 */
export function setCondition(
  conditions: Condition[] | null | undefined,
  condition: Omit<Condition, "lastTransitionTime">,
  now?: string | (() => string) | null,
): Condition[];

/**
 * Whether an object of the cluster is ready, by the rules of the host's statusChecks: the
 * replicas of a Deployment, the phase of a claim, the completion of a Job, the condition
 * Ready of other kinds. Kinds without any of this are ready. Null, and what is being deleted
 * or not yet observed by its controller, is not. Also in CEL.
 * @example
 * isReady({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "status": {"phase": "Bound"}})
 * // true
 */
export function isReady(object: object | null | undefined): boolean;

/**
 * A condition for the parent's status that summarizes its children. Desired are all that there
 * should be, in one list; groups has what there is. The status is "True" if all of them are
 * ready. The reason is Ready, InProgress or Failed, which you may show as a phase too. The
 * message counts them, and says of the first three that are not ready why. The type defaults to
 * "Ready". Also in CEL.
 * @example
 * readyCondition({"ConfigMap.v1": {}}, [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}], {"metadata": {"name": "web", "namespace": "shop"}})
 * // {"type": "Ready", "status": "False", "reason": "InProgress", "message": "0 of 1 ready; ConfigMap web: it does not exist"}
 */
export function readyCondition(
  groups: { [group: string]: { [key: string]: any } },
  desired: DesiredObject[],
  parent: { metadata: { namespace?: string | null } } | null,
  type?: string,
): Condition;

// Waiting for what is missing

/**
 * The answer of a hook that can't say yet which children there should be: the status is
 * written, and no child is created, updated or deleted. The reason is a word such as
 * SecretMissing. Add the status to the answer: without one it becomes empty. Also in CEL.
 * @example
 * waiting("NoNodes", "there is no node with the label gpu")
 * // {"waiting": {"reason": "NoNodes", "message": "there is no node with the label gpu"}}
 */
export function waiting(reason: string, message: string): { waiting: Waiting };

/**
 * Null if the object exists and is ready, and otherwise the answer that waits for it, with
 * the reason NotFound or NotReady. The argument what is the object's name in the message. Also in CEL.
 * @example
 * needs(null, "Secret shop/password")
 * // {"waiting": {"reason": "NotFound", "message": "waits for Secret shop/password: it does not exist"}}
 */
export function needs(object: object | null | undefined, what: string): { waiting: Waiting } | null;

// One after the other

/**
 * The ordinals of the objects base-0, base-1 and so on that should exist now, as those of a
 * StatefulSet. What exists stays; the next one comes when all before it are ready; of those
 * that are too many, the highest goes, one at a time. A Pod that has failed is left out, to be
 * replaced. Objects are those that exist, as objectsOf returns them.
 * @example
 * wantedOrdinals([{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web-0" } }], "web", 3)
 * // [0, 1]
 */
export function wantedOrdinals(objects: { metadata: { name: string } }[], base: string, replicas: number): number[];

/**
 * The children that should exist now of stages, each a list of desired children: those of the
 * first stage, those of the second once all of the first are ready, and so on. A child that
 * exists stays, even if a stage before it is no longer ready. Groups has what exists. Also in CEL.
 * @example
 * inOrder({"ConfigMap.v1": {}}, [[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}], [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}]], null)
 * // [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}]
 */
export function inOrder<Stage extends DesiredObject[]>(
  groups: { [group: string]: { [key: string]: any } },
  stages: Stage[],
  parent: { metadata: { namespace?: string | null } } | null,
): Stage[number][];

/**
 * The answer of a finalize hook that deletes the children of stages from the last stage to
 * the first: a stage goes when none of the later ones is left. Finalized is true when none is
 * left. Give it the stages that inOrder has. Children of the parent that are in no stage go first. Also in CEL.
 * @example
 * tearDown({"ConfigMap.v1": {"a": {"kind": "ConfigMap"}}}, [[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}]], null)
 * // {"children": [], "finalized": false}
 */
export function tearDown<Stage extends DesiredObject[]>(
  groups: { [group: string]: { [key: string]: any } },
  stages: Stage[],
  parent: { metadata: { namespace?: string | null } } | null,
): { children: Stage[number][]; finalized: boolean };

/**
 * The number n if the name is base-n, such as that of a pod of a StatefulSet, or else null. Also in CEL.
 * @example
 * ordinalOf("web-12", "web")
 * // 12
 */
export function ordinalOf(name: string, base: string): number | null;

// Names and labels

/**
 * A hash of a JSON value, such as a pod template: 16 hexadecimal digits, for a label, an
 * annotation or a part of a name. The order of keys makes no difference. Also in CEL.
 * @example
 * hash({"image": "nginx:1.29"})
 * // "e8d2c8e7274edc51"
 */
export function hash(value: unknown): string;

/**
 * The name base-suffix, or base without a suffix, within 63 characters or maxLength. A longer
 * name is cut, and gets a hash of what was cut; the suffix stays if it can. Also in CEL.
 * @example
 * childName("web", "config")
 * // "web-config"
 */
export function childName(base: string, suffix?: string | number | null, maxLength?: number | null): string;

/**
 * The name base-hash, where the hash is that of the content. It changes with the content: for
 * immutable ConfigMaps, and for Jobs that run once for each content. Also in CEL.
 * @example
 * hashedName("web-config", {"color": "blue"})
 * // "web-config-f234cb93c0"
 */
export function hashedName(base: string, content: unknown): string;

/**
 * The labels that Kubernetes recommends, app.kubernetes.io/name and so on, of those that are
 * given. Values of more than 63 characters are cut as by childName.
 * @example
 * recommendedLabels({ name: "web", instance: "shop", partOf: "store" })
 * // {"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "shop", "app.kubernetes.io/part-of": "store"}
 */
export function recommendedLabels(options: {
  name?: string | null;
  instance?: string | null;
  version?: string | null;
  component?: string | null;
  partOf?: string | null;
  managedBy?: string | null;
}): { [key: string]: string };

/**
 * The object with more labels, on its pod template too if it has one. Selectors stay, because
 * they can't be changed.
 * @example
 * withLabels({ kind: "ConfigMap", metadata: { name: "web", labels: { app: "web" } } }, { team: "a" })
 * // {"kind": "ConfigMap", "metadata": {"name": "web", "labels": {"app": "web", "team": "a"}}}
 */
export function withLabels<Labelled extends object>(object: Labelled, labels: { [key: string]: string } | null | undefined): Labelled;

/**
 * An object with the fields of both. Where both have an object, these are merged in turn;
 * anything else of over, a list or null too, takes the place of what base has. Also in CEL.
 * @example
 * merge({"spec": {"replicas": 1, "paused": true}}, {"spec": {"replicas": 3}})
 * // {"spec": {"replicas": 3, "paused": true}}
 */
export function merge<Base extends object>(base: Base, over: object): Base & { [field: string]: any };

// Objects that controllers write

/** A desired object of a kind, by its apiVersion and kind. */
export interface DesiredOf<Version extends string, Kind extends string> extends DesiredObject {
  apiVersion: Version;
  kind: Kind;
}

/** The options that all functions for objects have. */
export interface ObjectOptions {
  name: string;
  namespace?: string | null;
  labels?: { [key: string]: string } | null;
  annotations?: { [key: string]: string } | null;
}

/** A container, in which ports may be numbers, and env an object of values: texts, or where they come from. */
export interface ContainerOptions {
  name: string;
  image: string;
  ports?: (number | { containerPort: number; [field: string]: any })[] | null;
  env?: { [name: string]: string | number | boolean | null | { [source: string]: any } } | { name: string; [field: string]: any }[] | null;
  [field: string]: any;
}

/** The spec of a Pod, with containers as ContainerOptions has them. */
export interface PodSpecOptions {
  containers: ContainerOptions[];
  initContainers?: ContainerOptions[] | null;
  [field: string]: any;
}

/** The options of deployment, statefulSet and job. The fields of spec are merged over those that the function sets. */
export interface WorkloadOptions extends ObjectOptions {
  podSpec: PodSpecOptions;
  podAnnotations?: { [key: string]: string } | null;
  spec?: { [field: string]: any } | null;
}

/** The options of deployment and statefulSet. The selector is that of the labels of their Pods. */
export interface ReplicatedOptions extends WorkloadOptions {
  replicas?: number | null;
  selector?: { [key: string]: string } | null;
}

/**
 * The spec of a Pod, with defaults that any image can run with: no token of the service
 * account unless serviceAccountName is set, no environment variables for services, the seccomp
 * profile of the runtime, and no escalation of privileges. A securityContext of the spec or
 * of a container takes the place of the default. A port may be a number. Env may be an
 * object: a value is a text, a whole number, true or false, or an object such as
 * {secretKeyRef: {...}}; null leaves the variable out.
 * @example
 * podSpec({ containers: [{ name: "web", image: "nginx:1.29", ports: [80], env: { COLOR: "blue" } }] }).containers
 * // [{"name": "web", "image": "nginx:1.29", "ports": [{"containerPort": 80}], "env": [{"name": "COLOR", "value": "blue"}],
 * //  "securityContext": {"allowPrivilegeEscalation": false}}]
 */
export function podSpec(spec: PodSpecOptions): { containers: any[]; [field: string]: any };

/**
 * A Pod, with the defaults of podSpec.
 * @example
 * pod({ name: "web-0", labels: { app: "web" }, podSpec: { containers: [{ name: "web", image: "nginx:1.29" }] } }).metadata
 * // {"name": "web-0", "labels": {"app": "web"}}
 */
export function pod(options: ObjectOptions & { podSpec: PodSpecOptions }): DesiredOf<"v1", "Pod">;

/**
 * A Deployment, with the defaults of podSpec. Its selector defaults to the label app, and that
 * to the name; other labels are not in it, because they may change and a selector can't.
 * Deployments with the same label app need a selector each. The Deployment and its Pods have
 * the labels, and those of the selector.
 * @example
 * deployment({ name: "web", labels: { team: "a" }, replicas: 2, podSpec: { containers: [{ name: "web", image: "nginx:1.29" }] } }).spec.selector
 * // {"matchLabels": {"app": "web"}}
 */
export function deployment(options: ReplicatedOptions): DesiredOf<"apps/v1", "Deployment">;

/**
 * A StatefulSet, as deployment makes a Deployment. The name of its Service defaults to its own.
 * @example
 * statefulSet({ name: "db", podSpec: { containers: [{ name: "db", image: "postgres:18" }] } }).spec.serviceName
 * // "db"
 */
export function statefulSet(options: ReplicatedOptions & { serviceName?: string | null }): DesiredOf<"apps/v1", "StatefulSet">;

/**
 * A Job, with the defaults of podSpec, whose Pods are not restarted but replaced, up to
 * spec.backoffLimit. The Pods of a Job can't be changed: give it a name by hashedName if they
 * may. A Job with ttlSecondsAfterFinished that is still desired runs again after that time.
 * @example
 * job({ name: "init", podSpec: { containers: [{ name: "init", image: "busybox:1.37" }] }, spec: { backoffLimit: 2 } }).spec.backoffLimit
 * // 2
 */
export function job(options: WorkloadOptions): DesiredOf<"batch/v1", "Job">;

/**
 * A Service. Its selector defaults to that of a Deployment with this name and these labels. A
 * port may be a number: port-80 is the name of port 80 then.
 * @example
 * service({ name: "web", ports: [80] })
 * // {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"name": "port-80", "port": 80}]}}
 */
export function service(
  options: ObjectOptions & {
    selector?: { [key: string]: string } | null;
    ports?: (number | { port: number; [field: string]: any })[] | null;
    spec?: { [field: string]: any } | null;
  },
): DesiredOf<"v1", "Service">;

/**
 * A ConfigMap. All of data must be texts. If it is immutable, give it a name by hashedName.
 * @example
 * configMap({ name: "web", data: { color: "blue" } })
 * // {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"color": "blue"}}
 */
export function configMap(
  options: ObjectOptions & {
    data?: { [key: string]: string } | null;
    binaryData?: { [key: string]: string } | null;
    immutable?: boolean | null;
  },
): DesiredOf<"v1", "ConfigMap">;

// Quantities and durations

/**
 * A quantity of Kubernetes as a number. CEL has quantity() instead.
 * @example
 * parseQuantity("1.5Gi")
 * // 1610612736
 */
export function parseQuantity(quantity: string | number): number;

/**
 * A number as a quantity, in the format "DecimalSI", which is the default, "BinarySI" or
 * "DecimalExponent". It is rounded up to nano.
 * @example
 * formatQuantity(1610612736, "BinarySI")
 * // "1536Mi"
 */
export function formatQuantity(number: number, format?: "DecimalSI" | "BinarySI" | "DecimalExponent" | null): string;

/**
 * -1 if the quantity a is less than b, 0 if they are equal, and 1 if it is more. CEL has quantity(a).compareTo(quantity(b)).
 * @example
 * compareQuantities("1Gi", "1000Mi")
 * // 1
 */
export function compareQuantities(a: string | number, b: string | number): -1 | 0 | 1;

/**
 * The sum of two quantities, in the format of the first. CEL has quantity(a).add(quantity(b)).
 * @example
 * addQuantities("1Gi", "512Mi")
 * // "1536Mi"
 */
export function addQuantities(a: string | number, b: string | number): string;

/**
 * The seconds of a duration such as "1h30m" or "500ms", as Go and Kubernetes write them. CEL has duration().
 * @example
 * parseDuration("1h30m")
 * // 5400
 */
export function parseDuration(duration: string): number;

/**
 * Seconds as a duration.
 * @example
 * formatDuration(5400)
 * // "1h30m0s"
 */
export function formatDuration(seconds: number): string;

// Texts

/**
 * A text in base64, as data of a Secret has it. Also in CEL.
 * @example
 * encodeBase64("é")
 * // "w6k="
 */
export function encodeBase64(text: string): string;

/**
 * The text that is encoded in base64. Bytes that are no UTF-8 are an error: JavaScript has Uint8Array.fromBase64() for them. Also in CEL.
 * @example
 * decodeBase64("w6k=")
 * // "é"
 */
export function decodeBase64(encoded: string): string;

/**
 * The SHA-256 of a text in UTF-8: 64 hexadecimal digits. For names and labels, hash is short enough. Also in CEL.
 * @example
 * sha256("a")
 * // "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
 */
export function sha256(text: string): string;

/**
 * A JSON value as the one text that equal values have: keys in the order of their UTF-8, no spaces, numbers with the fewest digits and no
 * exponent. It is what hash is computed over. Also in CEL.
 * @example
 * canonicalJSON({"b": 1.0, "a": [true, null]})
 * // "{\"a\":[true,null],\"b\":1}"
 */
export function canonicalJSON(value: unknown): string;

/**
 * A number from 0 to 1, without 1, that is always the same for a JSON value, and evenly spread over values. It is for a minute that
 * differs from object to object, such as floor(60 * seededRandom(uid)); not for a password, which anybody could compute. Also in CEL.
 * @example
 * seededRandom(["shop/web", 1])
 * // 0.17870675938217773
 */
export function seededRandom(seed: unknown): number;

/**
 * The one document of a YAML text as a value, or null if there is none. A key that is there twice is an error. Also in CEL.
 * @example
 * parseYAML("a: [1, yes]")
 * // {"a": [1, true]}
 */
export function parseYAML(text: string): any;

/**
 * A JSON value as YAML, with sorted keys. Also in CEL.
 * @example
 * formatYAML({"b": "yes", "a": [1]})
 * // "a:\n- 1\nb: \"yes\"\n"
 */
export function formatYAML(value: unknown): string;

/** The parts of a URL. Those that are texts may be empty. */
export interface URLParts {
  scheme: string;
  username: string | null;
  password: string | null;
  /** Without the port, and without the brackets of an address of IPv6. */
  host: string;
  port: number | null;
  path: string;
  /** All values of each name. */
  query: { [name: string]: string[] };
  fragment: string;
}

/**
 * The parts of a URL, without percent signs. Also in CEL.
 * @example
 * parseURL("https://example.com:8443/a%20b?c=1")
 * // {"scheme": "https", "username": null, "password": null, "host": "example.com", "port": 8443, "path": "/a b", "query": {"c": ["1"]}, "fragment": ""}
 */
export function parseURL(url: string): URLParts;

// Versions and times

/**
 * -1 if the version a is before b, 0 if they are equal, and 1 if it is after, by semantic versioning. A v in front and missing parts are
 * allowed; what follows a plus does not count. Also in CEL.
 * @example
 * compareVersions("v1.9.3", "1.30")
 * // -1
 */
export function compareVersions(a: string, b: string): -1 | 0 | 1;

/**
 * Whether a version is in a range, as Helm writes them: with =, !=, >, <, >=, <=, ~, ^, x for any number, a comma or a space for and, ||
 * for or. A version with a suffix, such as 1.30.2-gke.1, is in no range but one with a suffix: ">=1.30-0". Also in CEL.
 * @example
 * satisfiesVersion("1.31.4", ">=1.30, <2")
 * // true
 */
export function satisfiesVersion(version: string, range: string): boolean;

/**
 * The first time after another at which a schedule of cron is due, in UTC and RFC 3339, or null if it is never. Schedules are those of a
 * CronJob, without a time zone. It reads no clock: give it, for example, the time of the last run. Also in CEL.
 * @example
 * nextTime("30 4 * * 1-5", "2026-01-30T04:30:00Z")
 * // "2026-02-02T04:30:00Z"
 */
export function nextTime(schedule: string, after: string): string | null;

/** What the methods of sets take. */
export interface SetLike<T> {
  has(value: any): boolean;
  keys(): { next(): { done?: boolean; value?: T | any } };
  readonly size: number;
}

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
  interface Set<T> {
    union<U>(other: SetLike<U>): Set<T | U>;
    intersection<U>(other: SetLike<U>): Set<T & U>;
    difference<U>(other: SetLike<U>): Set<T>;
    symmetricDifference<U>(other: SetLike<U>): Set<T | U>;
    isSubsetOf(other: SetLike<unknown>): boolean;
    isSupersetOf(other: SetLike<unknown>): boolean;
    isDisjointFrom(other: SetLike<unknown>): boolean;
  }
  interface Uint8ArrayConstructor {
    fromBase64(text: string, options?: { alphabet?: "base64" | "base64url"; lastChunkHandling?: "loose" | "strict" | "stop-before-partial" }): Uint8Array<ArrayBuffer>;
    fromHex(text: string): Uint8Array<ArrayBuffer>;
  }
  interface Uint8Array<TArrayBuffer extends ArrayBufferLike> {
    toBase64(options?: { alphabet?: "base64" | "base64url"; omitPadding?: boolean }): string;
    toHex(): string;
    setFromBase64(text: string, options?: { alphabet?: "base64" | "base64url"; lastChunkHandling?: "loose" | "strict" | "stop-before-partial" }): { read: number; written: number };
    setFromHex(text: string): { read: number; written: number };
  }
  /** The bytes of a string as UTF-8. */
  interface TextEncoder {
    readonly encoding: string;
    encode(text?: string): Uint8Array<ArrayBuffer>;
  }
  interface TextEncoderConstructor {
    new (): TextEncoder;
    readonly prototype: TextEncoder;
  }
  var TextEncoder: TextEncoderConstructor;
  /** The string of bytes that are UTF-8. Fatal makes other bytes an error; otherwise they are replaced. */
  interface TextDecoder {
    readonly encoding: string;
    readonly fatal: boolean;
    readonly ignoreBOM: boolean;
    decode(bytes?: ArrayBuffer | ArrayBufferView): string;
  }
  interface TextDecoderConstructor {
    new (label?: "utf-8" | "utf8", options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder;
    readonly prototype: TextDecoder;
  }
  var TextDecoder: TextDecoderConstructor;
}
