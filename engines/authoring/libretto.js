// The module "libretto" for JavaScript. libretto.libsonnet has the same functions for
// Jsonnet, and module.d.ts says what they are for.

export function groupKey(apiVersion, kind) {
  return `${text("groupKey", "kind", kind)}.${text("groupKey", "apiVersion", apiVersion)}`;
}

export function childKey(child, parent = null, version = "v2") {
  if (version !== "v1" && version !== "v2") {
    throw wrong("childKey", "version", version, '"v1" or "v2"');
  }
  return keyOf("childKey", named("childKey", "child", child), parent, version);
}

function keyOf(caller, child, parent, version) {
  const namespaceOf = ({ metadata }) => stringOrNull(caller, "metadata.namespace", metadata?.namespace) ?? "";
  const of = namespaceOf(objectOrNull(caller, "parent", parent) ?? {});
  const { name } = child.metadata;
  const namespace = namespaceOf(child) || of;
  return namespace === "" || (version === "v1" && of !== "") ? name : `${namespace}/${name}`;
}

export function objectsOf(groups, apiVersion, kind) {
  const group = groupOf("objectsOf", groups, apiVersion, kind);
  return Object.keys(group)
    .sort()
    .map((key) => group[key]);
}

// groupOf returns the objects of a kind by their keys.
function groupOf(caller, groups, apiVersion, kind) {
  const wanted = `${text(caller, "kind", kind)}.${text(caller, "apiVersion", apiVersion)}`;
  if (!isObject(groups)) {
    throw wrong(caller, "groups", groups, "children, attachments, outputs or related");
  }
  if (!Object.hasOwn(groups, wanted)) {
    throw new Error(`${caller}: there is no group ${wanted}, only [${Object.keys(groups).sort().join(", ")}]`);
  }
  return object(caller, `groups["${wanted}"]`, groups[wanted]);
}

export function ownerName(object) {
  if (!isObject(object?.metadata)) {
    throw wrong("ownerName", "object", object, "an object with metadata");
  }
  const references = list("ownerName", "metadata.ownerReferences", object.metadata.ownerReferences ?? []);
  return references.find((reference) => reference?.controller === true)?.name ?? null;
}

export function findCondition(object, type) {
  return conditionOf("findCondition", object, type);
}

export function isConditionTrue(object, type) {
  return conditionOf("isConditionTrue", object, type)?.status === "True";
}

function conditionOf(caller, object, type) {
  const conditions = objectOrNull(caller, "object", object)?.status?.conditions;
  string(caller, "type", type);
  return (Array.isArray(conditions) && conditions.find((condition) => condition?.type === type)) || null;
}

export function setCondition(conditions, condition, now) {
  const before = listOrNull("setCondition", "conditions", conditions) ?? [];
  const { lastTransitionTime: ignored, ...changed } = aCondition("setCondition", "condition", condition);
  const isOld = (one) => one?.type === condition.type;
  const old = before.find(isOld);
  const time =
    (old?.status === condition.status && old.lastTransitionTime) ||
    stringOrNull("setCondition", "now", typeof now === "function" ? now() : now);
  if (time) {
    changed.lastTransitionTime = time;
  }
  return old ? before.map((one) => (isOld(one) ? changed : one)) : [...before, changed];
}

export function matchesLabels(selector, labels) {
  if (!isGiven(selector)) {
    return false;
  }
  const { matchLabels, matchExpressions } = labelSelector("matchesLabels", "selector", selector);
  const given = objectOrNull("matchesLabels", "labels", labels) ?? {};
  const wanted = Object.entries(object("matchesLabels", "matchLabels", matchLabels ?? {}));
  const expressions = list("matchesLabels", "matchExpressions", matchExpressions ?? []);
  return (
    wanted.every(([key, value]) => Object.hasOwn(given, key) && given[key] === value) &&
    expressions.every((one, index) => matchesExpression(one, `matchExpressions[${index}]`, given))
  );
}

function matchesExpression(expression, at, labels) {
  const { key, operator, values } = labelExpression("matchesLabels", at, expression);
  const has = Object.hasOwn(labels, key);
  const isAmong = has && list("matchesLabels", `${at}.values`, values ?? []).includes(labels[key]);
  switch (operator) {
    case "In":
      return isAmong;
    case "NotIn":
      return !isAmong;
    case "Exists":
      return has;
    case "DoesNotExist":
      return !has;
    default:
      throw wrong("matchesLabels", `${at}.operator`, operator, "In, NotIn, Exists or DoesNotExist");
  }
}

export function ordinalOf(name, base) {
  return ordinal(string("ordinalOf", "name", name), string("ordinalOf", "base", base));
}

function ordinal(name, base) {
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
  checkKnown("recommendedLabels", options, ["name", "instance", "version", "component", "partOf", "managedBy"]);
  const keys = { partOf: "part-of", managedBy: "managed-by" };
  const labels = {};
  for (const [option, value] of Object.entries(given(options))) {
    labels[`app.kubernetes.io/${keys[option] ?? option}`] = childName(text("recommendedLabels", option, value));
  }
  return labels;
}

export function withLabels(object, labels) {
  if (!isObject(object)) {
    throw wrong("withLabels", "object", object, "an object");
  }
  const added = { metadata: { labels: texts("withLabels", "labels", labels ?? {}) } };
  return mergeObjects(object, isObject(object.spec?.template) ? { ...added, spec: { template: added } } : added);
}

export function merge(base, over) {
  return mergeObjects(object("merge", "base", base), object("merge", "over", over));
}

function mergeObjects(base, over) {
  const merged = Object.entries(over).map(([key, value]) => {
    const nests = isObject(value) && Object.hasOwn(base, key) && isObject(base[key]);
    return [key, nests ? mergeObjects(base[key], value) : value];
  });
  return { ...base, ...Object.fromEntries(merged) }; // An assignment to __proto__ would set no field.
}

// Objects that controllers write

const objectOptions = ["name", "namespace", "labels", "annotations"];
const workloadOptions = /* @__PURE__ */ objectOptions.concat("podSpec", "podAnnotations", "spec");

export function podSpec(spec) {
  return newPodSpec(checkPodSpec("podSpec", "spec", spec));
}

export function pod(options) {
  checkOptions("pod", options, [...objectOptions, "podSpec"]);
  return { apiVersion: "v1", kind: "Pod", metadata: metadata(options), spec: newPodSpec(options.podSpec) };
}

export function deployment(options) {
  checkOptions("deployment", options, [...workloadOptions, "replicas", "selector"]);
  return replicated("Deployment", options, {});
}

export function statefulSet(options) {
  checkOptions("statefulSet", options, [...workloadOptions, "replicas", "selector", "serviceName"]);
  return replicated("StatefulSet", options, { serviceName: options.serviceName ?? options.name });
}

export function job(options) {
  checkOptions("job", options, workloadOptions);
  const meta = metadata(options);
  const template = podTemplate(meta.labels, options, { restartPolicy: "Never", ...newPodSpec(options.podSpec) });
  return { apiVersion: "batch/v1", kind: "Job", metadata: meta, spec: mergeObjects({ template }, options.spec ?? {}) };
}

export function service(options) {
  checkOptions("service", options, [...objectOptions, "selector", "ports", "spec"]);
  const ports = newPorts(options.ports ?? [], (port) => ({ name: `port-${port}`, port }));
  const spec = { selector: selectorOf(options), ...(ports.length > 0 && { ports }) };
  return { apiVersion: "v1", kind: "Service", metadata: metadata(options), spec: mergeObjects(spec, options.spec ?? {}) };
}

export function configMap(options) {
  checkOptions("configMap", options, [...objectOptions, "data", "binaryData", "immutable"]);
  const { data, binaryData, immutable } = options;
  return { apiVersion: "v1", kind: "ConfigMap", metadata: metadata(options), ...given({ data, binaryData, immutable }) };
}

// replicated makes a Deployment or a StatefulSet.
function replicated(kind, options, fields) {
  const selector = selectorOf(options);
  const meta = metadata(options, selector);
  const template = podTemplate(meta.labels, options, newPodSpec(options.podSpec));
  const spec = { ...given({ replicas: options.replicas }), ...fields, selector: { matchLabels: selector }, template };
  return { apiVersion: "apps/v1", kind, metadata: meta, spec: mergeObjects(spec, options.spec ?? {}) };
}

function metadata({ name, namespace, labels, annotations }, selector = {}) {
  const all = { ...labels, ...selector };
  return { name, ...given({ namespace, annotations }), ...(Object.keys(all).length > 0 && { labels: all }) };
}

function selectorOf({ name, labels, selector }) {
  return selector ?? { app: labels?.app ?? childName(name) };
}

function podTemplate(labels, { podAnnotations }, spec) {
  const meta = given({ labels, annotations: podAnnotations });
  return { ...(Object.keys(meta).length > 0 && { metadata: meta }), spec };
}

function newPodSpec(spec) {
  const { containers, initContainers } = spec;
  return {
    automountServiceAccountToken: isGiven(spec.serviceAccountName),
    enableServiceLinks: false,
    securityContext: { seccompProfile: { type: "RuntimeDefault" } },
    ...spec,
    containers: containers.map(newContainer),
    ...(isGiven(initContainers) && { initContainers: initContainers.map(newContainer) }),
  };
}

function newContainer(container) {
  const { ports, env } = container;
  return {
    securityContext: { allowPrivilegeEscalation: false },
    ...container,
    ...(isGiven(ports) && { ports: newPorts(ports, (containerPort) => ({ containerPort })) }),
    ...(isObject(env) && { env: Object.keys(given(env)).sort().map((name) => newVariable(name, env[name])) }),
  };
}

const newPorts = (ports, make) => ports.map((port) => (isObject(port) ? port : make(port)));
const newVariable = (name, value) => (isObject(value) ? { name, valueFrom: value } : { name, value: String(value) });

// Conditions and readiness

export function isReady(object) {
  return readiness("isReady", object).state === "Ready";
}

function readiness(caller, object) {
  if (isGiven(object) && !isObject(object)) {
    throw wrong(caller, "object", object, "an object of the cluster or null");
  }
  const [state, why] = librettoCall("readiness", object ?? null);
  return { state, why };
}

export function findChild(groups, child, parent) {
  return find("findChild", "child", groups, child, parent);
}

// find is findChild of a child that the caller has by that name.
function find(caller, parameter, groups, child, parent) {
  if (!isObject(child) || ![child.apiVersion, child.kind, child.metadata?.name].every((value) => typeof value === "string")) {
    throw wrong(caller, parameter, child, "an object with apiVersion, kind and metadata.name");
  }
  if (parent === undefined) {
    throw new Error(`${caller}: parent is missing, want an object or null`);
  }
  const group = groupOf(caller, groups, child.apiVersion, child.kind);
  const key = ["v2", "v1"].map((version) => keyOf(caller, child, parent, version)).find((one) => Object.hasOwn(group, one));
  return key === undefined ? null : group[key];
}

export function readyCondition(groups, desired, parent, type = "Ready") {
  const states = list("readyCondition", "desired", desired).map((child, index) => {
    const { state, why } = readiness("readyCondition", find("readyCondition", `desired[${index}]`, groups, child, parent));
    return { state, message: `${child.kind} ${child.metadata.name}: ${why}` };
  });
  const unready = states.filter(({ state }) => state !== "Ready");
  const failed = unready.filter(({ state }) => state === "Failed");
  const told = [...failed, ...unready.filter(({ state }) => state !== "Failed")].slice(0, 3).map(({ message }) => message);
  const message = [`${states.length - unready.length} of ${states.length} ready`, ...told].join("; ");
  if (unready.length === 0) {
    return { type, status: "True", reason: "Ready", message };
  }
  return { type, status: "False", reason: failed.length > 0 ? "Failed" : "InProgress", message };
}

// One after the other

export function wantedOrdinals(objects, base, replicas) {
  text("wantedOrdinals", "base", base);
  count("wantedOrdinals", "replicas", replicas);
  const existing = new Map(
    list("wantedOrdinals", "objects", objects).map((one, index) => {
      const { name } = named("wantedOrdinals", `objects[${index}]`, one).metadata;
      return [ordinal(name, base), one];
    }),
  );
  existing.delete(null);
  const ordinals = [...existing.keys()];
  const wanted = ordinals.filter((ordinal) => ordinal < replicas && !hasFailed(existing.get(ordinal)));
  const surplus = ordinals.filter((ordinal) => ordinal >= replicas).sort((a, b) => a - b);
  let next = 0;
  while (isReady(existing.get(next))) {
    next++;
  }
  const due = next < replicas && !existing.has(next) ? [next] : [];
  return [...wanted, ...due, ...surplus.slice(0, -1)].sort((a, b) => a - b);
}

// hasFailed reports whether an object is a Pod that will never be ready.
const hasFailed = ({ apiVersion, kind, status }) => apiVersion === "v1" && kind === "Pod" && status?.phase === "Failed";

export function inOrder(groups, stages, parent) {
  let goOn = true;
  return stagesOf("inOrder", groups, stages, parent).flatMap((stage) => {
    const wanted = stage.filter(({ object }) => goOn || object !== null);
    goOn = goOn && stage.every(({ object }) => isReady(object));
    return wanted.map(({ child }) => child);
  });
}

export function tearDown(groups, stages, parent) {
  const left = stagesOf("tearDown", groups, stages, parent)
    .map((stage) => stage.filter(({ object }) => object !== null).map(({ child }) => child))
    .filter((stage) => stage.length > 0);
  return { children: left.slice(0, -1).flat(), finalized: left.length === 0 };
}

// stagesOf returns the children of stages, each with the object that there is.
function stagesOf(caller, groups, stages, parent) {
  return list(caller, "stages", stages).map((stage, index) =>
    list(caller, `stages[${index}]`, stage).map((child, at) => ({
      child,
      object: find(caller, `stages[${index}][${at}]`, groups, child, parent),
    })),
  );
}

// Waiting

export function waiting(reason, message) {
  if (typeof reason !== "string" || !/^[A-Z][A-Za-z0-9]*$/.test(reason)) {
    throw wrong("waiting", "reason", reason, 'a word such as "SecretMissing"');
  }
  return { waiting: { reason, message: text("waiting", "message", message) } };
}

export function needs(object, what) {
  const { state, why } = readiness("needs", object);
  const message = `waits for ${text("needs", "what", what)}: ${why}`;
  return state === "Ready" ? null : waiting(isGiven(object) ? "NotReady" : "NotFound", message);
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

// Texts

export function encodeBase64(text) {
  return librettoCall("encodeBase64", text ?? null);
}

export function decodeBase64(encoded) {
  return librettoCall("decodeBase64", encoded ?? null);
}

export function sha256(text) {
  return librettoCall("sha256", text ?? null);
}

export function canonicalJSON(value) {
  return librettoCall("canonicalJSON", value);
}

export function seededRandom(seed) {
  return librettoCall("seededRandom", seed);
}

export function parseYAML(text) {
  return librettoCall("parseYAML", text ?? null);
}

export function formatYAML(value) {
  return librettoCall("formatYAML", value);
}

export function parseURL(url) {
  return librettoCall("parseURL", url ?? null);
}

// Versions and times

export function compareVersions(a, b) {
  return librettoCall("compareVersions", a ?? null, b ?? null);
}

export function satisfiesVersion(version, range) {
  return librettoCall("satisfiesVersion", version ?? null, range ?? null);
}

export function nextTime(schedule, after) {
  return librettoCall("nextTime", schedule ?? null, after ?? null);
}

// Checks of arguments. Each returns the value, or throws what is wrong with it.

const isGiven = (value) => value !== undefined && value !== null;
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// given returns the fields that have a value.
const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => isGiven(value)));

function wrong(caller, parameter, value, want) {
  return new Error(`${caller}: ${parameter} is ${librettoCall("show", value ?? null)}, want ${want}`);
}

const check = (isRight, want) => (caller, parameter, value) => {
  if (!isRight(value)) {
    throw wrong(caller, parameter, value, want);
  }
  return value;
};
const text = /* @__PURE__ */ check((value) => typeof value === "string" && value !== "", "a non-empty string");
const string = /* @__PURE__ */ check((value) => typeof value === "string", "a string");
const list = /* @__PURE__ */ check(Array.isArray, "a list");
const object = /* @__PURE__ */ check(isObject, "an object");
const stringOrNull = /* @__PURE__ */ check((value) => !isGiven(value) || typeof value === "string", "a string or null");
const listOrNull = /* @__PURE__ */ check((value) => !isGiven(value) || Array.isArray(value), "a list or null");
const objectOrNull = /* @__PURE__ */ check((value) => !isGiven(value) || isObject(value), "an object or null");
const named = /* @__PURE__ */ check((value) => typeof value?.metadata?.name === "string", "an object with metadata.name");
const aCondition = /* @__PURE__ */ check(
  (value) => typeof value?.type === "string" && value.type !== "" && typeof value.status === "string",
  "an object with type and status, which are strings",
);
const labelExpression = /* @__PURE__ */ check((value) => typeof value?.key === "string", "an object with key and operator");
const labelSelector = /* @__PURE__ */ check(
  (value) => isObject(value) && Object.keys(value).every((key) => key === "matchLabels" || key === "matchExpressions"),
  "an object with matchLabels and matchExpressions, or null",
);
const count = /* @__PURE__ */ check((value) => Number.isInteger(value) && value >= 0, "a whole number from 0");
const port = /* @__PURE__ */ check(
  (value) => isObject(value) || (Number.isInteger(value) && value > 0 && value < 65536),
  "a number from 1 to 65535 or an object",
);
const container = /* @__PURE__ */ check(
  (value) => typeof value?.name === "string" && typeof value?.image === "string",
  "an object with name and image",
);
const variable = /* @__PURE__ */ check(
  (value) => isObject(value) || ["string", "boolean"].includes(typeof value) || Number.isSafeInteger(value),
  "a string, a whole number, true, false or an object such as {secretKeyRef: {...}}",
);

// texts is for a map of strings, such as labels.
function texts(caller, parameter, value) {
  for (const [key, one] of Object.entries(object(caller, parameter, value))) {
    string(caller, `${parameter}[${JSON.stringify(key)}]`, one);
  }
  return value;
}

function ports(caller, parameter, value) {
  list(caller, parameter, value).forEach((one, index) => port(caller, `${parameter}[${index}]`, one));
  return value;
}

function checkContainers(caller, parameter, containers) {
  list(caller, parameter, containers).forEach((value, index) => {
    const at = `${parameter}[${index}]`;
    const { ports: numbers, env } = container(caller, at, value);
    ports(caller, `${at}.ports`, numbers ?? []);
    Object.entries(isObject(env) ? given(env) : {}).forEach(([name, one]) => variable(caller, `${at}.env.${name}`, one));
  });
}

function checkPodSpec(caller, parameter, spec) {
  const { containers, initContainers } = object(caller, parameter, spec);
  checkContainers(caller, "containers", containers);
  checkContainers(caller, "initContainers", initContainers ?? []);
  return spec;
}

const optionChecks = {
  name: text, namespace: text, serviceName: text, labels: texts, annotations: texts, podAnnotations: texts, selector: texts,
  data: texts, binaryData: texts, replicas: count, ports, spec: object, podSpec: checkPodSpec,
};

// checkKnown checks the names of options.
function checkKnown(caller, options, known) {
  if (!isObject(options)) {
    throw wrong(caller, "options", options, `an object with ${known.join(", ")}`);
  }
  const odd = Object.keys(options).find((option) => !known.includes(option));
  if (odd !== undefined) {
    throw new Error(`${caller}: there is no option ${odd}, only [${[...known].sort().join(", ")}]`);
  }
}

// checkOptions checks options and their values. Name is required, and podSpec where there is one.
function checkOptions(caller, options, known) {
  checkKnown(caller, options, known);
  for (const option of known) {
    if (isGiven(options[option]) || option === "name" || option === "podSpec") {
      optionChecks[option]?.(caller, option, options[option]);
    }
  }
}
