// The module "libretto" for JavaScript. libretto.libsonnet has the same functions for
// Jsonnet, and module.d.ts says what they are for.

export function groupKey(apiVersion, kind) {
  return `${kind}.${apiVersion}`;
}

export function childKey(child, parent, version = "v2") {
  if (version !== "v1" && version !== "v2") {
    throw new Error(`childKey: version ${JSON.stringify(version)} is neither "v1" nor "v2"`);
  }
  const { name } = child.metadata;
  const of = parent?.metadata?.namespace ?? "";
  const namespace = (child.metadata.namespace ?? "") || of;
  return namespace === "" || (version === "v1" && of !== "") ? name : `${namespace}/${name}`;
}

export function objectsOf(groups, apiVersion, kind) {
  const wanted = groupKey(apiVersion, kind);
  if (!Object.hasOwn(groups, wanted)) {
    throw noGroup("objectsOf", groups, wanted);
  }
  const group = groups[wanted];
  return Object.keys(group)
    .sort()
    .map((key) => group[key]);
}

export function ownerName(object) {
  const owner = (object.metadata.ownerReferences ?? []).find((reference) => reference.controller === true);
  return owner?.name ?? null;
}

export function findCondition(object, type) {
  return (object?.status?.conditions ?? []).find((condition) => condition.type === type) ?? null;
}

export function isConditionTrue(object, type) {
  return findCondition(object, type)?.status === "True";
}

export function setCondition(conditions, condition, now) {
  const list = conditions ?? [];
  const old = list.find(({ type }) => type === condition.type);
  const { lastTransitionTime: ignored, ...changed } = condition;
  const time = (old?.status === condition.status && old?.lastTransitionTime) || (typeof now === "function" ? now() : now);
  if (time) {
    changed.lastTransitionTime = time;
  }
  return old ? list.map((one) => (one.type === condition.type ? changed : one)) : [...list, changed];
}

export function matchesLabels(selector, labels) {
  if (selector === null || selector === undefined) {
    return false;
  }
  const { matchLabels, matchExpressions } = selector;
  const has = (key) => Object.hasOwn(labels ?? {}, key);
  return (
    Object.entries(matchLabels ?? {}).every(([key, value]) => has(key) && labels[key] === value) &&
    (matchExpressions ?? []).every(({ key, operator, values }) => {
      switch (operator) {
        case "In":
          return has(key) && (values ?? []).includes(labels[key]);
        case "NotIn":
          return !has(key) || !(values ?? []).includes(labels[key]);
        case "Exists":
          return has(key);
        case "DoesNotExist":
          return !has(key);
        default:
          throw new Error(`matchesLabels: operator ${JSON.stringify(operator)} is none of In, NotIn, Exists and DoesNotExist`);
      }
    })
  );
}

export function ordinalOf(name, base) {
  const digits = name.startsWith(`${base}-`) ? name.slice(base.length + 1) : "";
  return /^(0|[1-9][0-9]{0,9})$/.test(digits) ? Number(digits) : null;
}

export function hash(value) {
  return librettoCall("hash", value);
}

// Names and labels

export function childName(base, suffix = null, maxLength = null) {
  return librettoCall("childName", base ?? null, suffix, maxLength);
}

export function hashedName(base, content) {
  return librettoCall("hashedName", base ?? null, content);
}

export function recommendedLabels(options) {
  const keys = { name: "name", instance: "instance", version: "version", component: "component", partOf: "part-of", managedBy: "managed-by" };
  checkOptions("recommendedLabels", options, Object.keys(keys));
  const given = Object.entries(keys).filter(([option]) => isGiven(options[option]));
  return Object.fromEntries(given.map(([option, key]) => [`app.kubernetes.io/${key}`, childName(text("recommendedLabels", option, options[option]))]));
}

export function withLabels(object, labels) {
  if (!isObject(object)) {
    throw wrong("withLabels", "object", object, "an object");
  }
  const added = { metadata: { labels: texts("withLabels", "labels", labels) } };
  return mergeObjects(object, isObject(object.spec?.template) ? { ...added, spec: { template: added } } : added);
}

export function merge(base, over) {
  return mergeObjects(object("merge", "base", base), object("merge", "over", over));
}

function mergeObjects(base, over) {
  const merged = { ...base };
  for (const [key, value] of Object.entries(over)) {
    merged[key] = isObject(value) && Object.hasOwn(base, key) && isObject(base[key]) ? mergeObjects(base[key], value) : value;
  }
  return merged;
}

// Objects that controllers write

const workloadOptions = ["name", "namespace", "labels", "annotations", "podSpec", "podAnnotations", "spec"];

export function podSpec(spec) {
  return newPodSpec("podSpec", spec);
}

export function pod(options) {
  checkOptions("pod", options, ["name", "namespace", "labels", "annotations", "podSpec"]);
  return { apiVersion: "v1", kind: "Pod", metadata: metadata("pod", options), spec: newPodSpec("pod", options.podSpec) };
}

export function deployment(options) {
  return replicated("deployment", "Deployment", options, {});
}

export function statefulSet(options) {
  return replicated("statefulSet", "StatefulSet", options, { serviceName: options?.serviceName ?? options?.name }, ["serviceName"]);
}

export function job(options) {
  checkOptions("job", options, workloadOptions);
  const meta = metadata("job", options);
  const pods = { restartPolicy: "Never", ...newPodSpec("job", options.podSpec) };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: meta,
    spec: mergeObjects({ template: podTemplate(meta.labels, options, pods) }, object("job", "spec", options.spec)),
  };
}

export function service(options) {
  checkOptions("service", options, ["name", "namespace", "labels", "annotations", "selector", "ports", "spec"]);
  const meta = metadata("service", options);
  const ports = list("service", "ports", options.ports).map((port) => (typeof port === "number" ? { name: `port-${port}`, port } : port));
  const spec = { selector: selectorOf("service", options), ...(ports.length > 0 && { ports }) };
  return { apiVersion: "v1", kind: "Service", metadata: meta, spec: mergeObjects(spec, object("service", "spec", options.spec)) };
}

export function configMap(options) {
  checkOptions("configMap", options, ["name", "namespace", "labels", "annotations", "data", "binaryData", "immutable"]);
  const { data, binaryData, immutable } = options;
  texts("configMap", "data", data);
  texts("configMap", "binaryData", binaryData);
  return { apiVersion: "v1", kind: "ConfigMap", metadata: metadata("configMap", options), ...given({ data, binaryData, immutable }) };
}

// replicated makes a Deployment or a StatefulSet.
function replicated(caller, kind, options, fields, own = []) {
  checkOptions(caller, options, [...workloadOptions, "replicas", "selector", ...own]);
  const selector = selectorOf(caller, options);
  const meta = metadata(caller, options, selector);
  const spec = {
    ...given({ replicas: options.replicas }),
    ...fields,
    selector: { matchLabels: selector },
    template: podTemplate(meta.labels, options, newPodSpec(caller, options.podSpec)),
  };
  return { apiVersion: "apps/v1", kind, metadata: meta, spec: mergeObjects(spec, object(caller, "spec", options.spec)) };
}

function metadata(caller, options, selector = {}) {
  const name = text(caller, "name", options.name);
  const { namespace, labels, annotations } = options;
  const all = { ...texts(caller, "labels", labels), ...selector };
  texts(caller, "annotations", annotations);
  return { name, ...given({ namespace, annotations }), ...(Object.keys(all).length > 0 && { labels: all }) };
}

function selectorOf(caller, options) {
  return texts(caller, "selector", options.selector ?? { app: options.labels?.app ?? childName(text(caller, "name", options.name)) });
}

function podTemplate(labels, options, spec) {
  const meta = given({ labels, annotations: options.podAnnotations });
  return { ...(Object.keys(meta).length > 0 && { metadata: meta }), spec };
}

function newPodSpec(caller, spec) {
  if (!isObject(spec)) {
    throw wrong(caller, caller === "podSpec" ? "spec" : "podSpec", spec, "an object with containers");
  }
  const { containers, initContainers } = spec;
  if (list(caller, "containers", containers).length === 0) {
    throw wrong(caller, "containers", containers, "a list of containers");
  }
  return {
    automountServiceAccountToken: isGiven(spec.serviceAccountName),
    enableServiceLinks: false,
    securityContext: { seccompProfile: { type: "RuntimeDefault" } },
    ...spec,
    containers: containers.map((container) => newContainer(caller, "containers", container)),
    ...(isGiven(initContainers) && { initContainers: list(caller, "initContainers", initContainers).map((container) => newContainer(caller, "initContainers", container)) }),
  };
}

function newContainer(caller, parameter, container) {
  if (!isObject(container) || typeof container.name !== "string" || typeof container.image !== "string") {
    throw wrong(caller, parameter, container, "containers with name and image");
  }
  const { ports, env } = container;
  return {
    securityContext: { allowPrivilegeEscalation: false },
    ...container,
    ...(isGiven(ports) && { ports: list(caller, "ports", ports).map((port) => (typeof port === "number" ? { containerPort: port } : port)) }),
    ...(isObject(env) && { env: Object.keys(env).sort().filter((name) => env[name] !== null).map((name) => variable(caller, name, env[name])) }),
  };
}

// variable makes an environment variable of a text, a number or what a value comes from.
function variable(caller, name, value) {
  if (isObject(value)) {
    return { name, valueFrom: value };
  }
  if (typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value)) {
    return { name, value: String(value) };
  }
  throw wrong(caller, `env.${name}`, value, "a string, a whole number, true, false or an object such as {secretKeyRef: {...}}");
}

// Conditions and readiness

export function isReady(object) {
  return librettoCall("isReady", object ?? null);
}

export function findChild(groups, child, parent) {
  return findChildFor("findChild", groups, child, parent);
}

function findChildFor(caller, groups, child, parent) {
  const group = groups?.[groupKey(child.apiVersion, child.kind)];
  if (!group) {
    throw noGroup(caller, groups, groupKey(child.apiVersion, child.kind));
  }
  return group[childKey(child, parent)] ?? group[childKey(child, parent, "v1")] ?? null;
}

export function readyCondition(groups, desired, parent, type = "Ready") {
  const states = list("readyCondition", "desired", desired).map((child) => {
    const [state, why] = librettoCall("readiness", findChildFor("readyCondition", groups, child, parent));
    return { state, message: `${child.kind} ${child.metadata.name}: ${why}` };
  });
  const unready = states.filter(({ state }) => state !== "Ready");
  const counted = `${states.length - unready.length} of ${states.length} ready`;
  if (unready.length === 0) {
    return { type, status: "True", reason: "Ready", message: counted };
  }
  const failed = unready.filter(({ state }) => state === "Failed");
  const told = [...failed, ...unready.filter(({ state }) => state !== "Failed")].slice(0, 3).map(({ message }) => message);
  return { type, status: "False", reason: failed.length > 0 ? "Failed" : "InProgress", message: [counted, ...told].join("; ") };
}

// One after the other

export function wantedOrdinals(objects, base, replicas) {
  if (!Number.isInteger(replicas) || replicas < 0) {
    throw wrong("wantedOrdinals", "replicas", replicas, "a whole number from 0");
  }
  const existing = new Map(list("wantedOrdinals", "objects", objects).map((object) => [ordinalOf(object.metadata.name, base), object]));
  existing.delete(null);
  const wanted = [];
  let goOn = true;
  for (let ordinal = 0; ordinal < replicas; ordinal++) {
    const object = existing.get(ordinal);
    if (object ? !hasFailed(object) : goOn) {
      wanted.push(ordinal);
    }
    goOn = goOn && isReady(object);
  }
  const surplus = [...existing.keys()].filter((ordinal) => ordinal >= replicas).sort((a, b) => a - b);
  return [...wanted, ...surplus.slice(0, -1)];
}

const hasFailed = ({ apiVersion, kind, status }) => apiVersion === "v1" && kind === "Pod" && status?.phase === "Failed";

export function inOrder(groups, stages, parent) {
  let goOn = true;
  return list("inOrder", "stages", stages).flatMap((stage) => {
    const found = list("inOrder", "stages", stage).map((child) => [child, findChildFor("inOrder", groups, child, parent)]);
    const wanted = found.filter(([, object]) => goOn || object !== null);
    goOn = goOn && found.every(([, object]) => isReady(object));
    return wanted.map(([child]) => child);
  });
}

export function tearDown(groups, stages, parent) {
  const existing = list("tearDown", "stages", stages)
    .map((stage) => list("tearDown", "stages", stage).filter((child) => findChildFor("tearDown", groups, child, parent) !== null))
    .filter((stage) => stage.length > 0);
  return { children: existing.slice(0, -1).flat(), finalized: existing.length === 0 };
}

// Waiting

export function waiting(reason, message) {
  if (typeof reason !== "string" || !/^[A-Z][A-Za-z0-9]*$/.test(reason)) {
    throw wrong("waiting", "reason", reason, 'a word such as "SecretMissing"');
  }
  return { waiting: { reason, message: text("waiting", "message", message) } };
}

export function needs(object, what) {
  text("needs", "what", what);
  const [state, why] = librettoCall("readiness", object ?? null);
  if (state === "Ready") {
    return null;
  }
  return waiting(isGiven(object) ? "NotReady" : "NotFound", `waits for ${what}: ${why}`);
}

// Quantities and durations

export function parseQuantity(quantity) {
  return librettoCall("parseQuantity", quantity ?? null);
}

export function formatQuantity(number, format = null) {
  return librettoCall("formatQuantity", number ?? null, format);
}

export function compareQuantities(a, b) {
  return librettoCall("compareQuantities", a ?? null, b ?? null);
}

export function addQuantities(a, b) {
  return librettoCall("addQuantities", a ?? null, b ?? null);
}

export function parseDuration(duration) {
  return librettoCall("parseDuration", duration ?? null);
}

export function formatDuration(seconds) {
  return librettoCall("formatDuration", seconds ?? null);
}

// Arguments

const isGiven = (value) => value !== undefined && value !== null;
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// given returns the fields that have a value.
const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => isGiven(value)));

function wrong(caller, parameter, value, want) {
  return new Error(`${caller}: ${parameter} is ${librettoCall("show", value ?? null)}, want ${want}`);
}

function noGroup(caller, groups, wanted) {
  return new Error(`${caller}: there is no group ${wanted}, only [${Object.keys(groups).sort().join(", ")}]`);
}

function checkOptions(caller, options, known) {
  if (!isObject(options)) {
    throw wrong(caller, "options", options, `an object with ${known.join(", ")}`);
  }
  const odd = Object.keys(options).find((option) => !known.includes(option));
  if (odd !== undefined) {
    throw new Error(`${caller}: there is no option ${odd}, only [${[...known].sort().join(", ")}]`);
  }
}

function text(caller, parameter, value) {
  if (typeof value !== "string" || value === "") {
    throw wrong(caller, parameter, value, "a string");
  }
  return value;
}

function list(caller, parameter, value) {
  if (isGiven(value) && !Array.isArray(value)) {
    throw wrong(caller, parameter, value, "a list");
  }
  return value ?? [];
}

function object(caller, parameter, value) {
  if (isGiven(value) && !isObject(value)) {
    throw wrong(caller, parameter, value, "an object");
  }
  return value ?? {};
}

// texts returns a map of strings, such as labels.
function texts(caller, parameter, value) {
  for (const [key, one] of Object.entries(object(caller, parameter, value))) {
    if (typeof one !== "string") {
      throw wrong(caller, `${parameter}[${JSON.stringify(key)}]`, one, "a string");
    }
  }
  return value ?? {};
}
