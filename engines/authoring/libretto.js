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
    throw new Error(`objectsOf: there is no group ${wanted}, only [${Object.keys(groups).sort().join(", ")}]`);
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
  return librettoHash(value);
}
