// The matchers of "libretto/test": what is equal, and how values are shown.

export class Failure extends Error {}

const isObject = (v) => v !== null && typeof v === "object";
const isMatcher = (v) => isObject(v) && typeof v.asymmetricMatch === "function";
const kindOf = (v) => Object.prototype.toString.call(v).slice(8, -1);

// equals compares values as toEqual does, or with strict as toStrictEqual does: then types and fields that are undefined count.
export function equals(a, b, strict = false, pairs = []) {
  if (isMatcher(b)) {
    return b.asymmetricMatch(a);
  }
  if (isMatcher(a)) {
    return a.asymmetricMatch(b);
  }
  if (!isObject(a) || !isObject(b)) {
    return Object.is(a, b);
  }
  if (a === b || pairs.some(([x, y]) => x === a && y === b)) {
    return true;
  }
  const kind = kindOf(a);
  if (kind !== kindOf(b) || (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b))) {
    return false;
  }
  const inner = [...pairs, [a, b]];
  switch (kind) {
    case "Date":
    case "Number":
    case "String":
    case "Boolean":
      return Object.is(a.valueOf(), b.valueOf());
    case "RegExp":
      return String(a) === String(b);
    case "Error":
      return a.name === b.name && a.message === b.message;
    case "Map":
      return a.size === b.size && [...a].every((entry) => [...b].some((other) => equals(entry, other, strict, inner)));
    case "Set":
      return a.size === b.size && [...a].every((v) => [...b].some((w) => equals(v, w, strict, inner)));
    case "Array":
      if (a.length !== b.length) {
        return false;
      }
  }
  return fieldsEqual(a, b, strict, inner);
}

function fieldsEqual(a, b, strict, pairs) {
  const counts = (o, key) => strict || o[key] !== undefined;
  const ours = Object.keys(a).filter((key) => counts(a, key));
  const theirs = Object.keys(b).filter((key) => counts(b, key));
  return ours.length === theirs.length && theirs.every((key) => Object.hasOwn(a, key) && equals(a[key], b[key], strict, pairs));
}

// contains reports whether actual has all that expected names. Arrays are compared item by item.
function contains(actual, expected, pairs = []) {
  if (isMatcher(expected) || !isObject(expected) || !isObject(actual) || !["Object", "Array"].includes(kindOf(expected))) {
    return equals(actual, expected);
  }
  if (pairs.some(([x, y]) => x === actual && y === expected)) {
    return true;
  }
  if (Array.isArray(expected) && (!Array.isArray(actual) || actual.length !== expected.length)) {
    return false;
  }
  const inner = [...pairs, [actual, expected]];
  return Object.keys(expected).every((key) => key in actual && contains(actual[key], expected[key], inner));
}

// part returns what of actual expected names, for a difference without the rest.
function part(actual, expected, depth = 0) {
  if (!isObject(actual) || !isObject(expected) || isMatcher(expected) || depth > 100) {
    return actual;
  }
  if (Array.isArray(actual)) {
    return Array.isArray(expected) ? actual.map((item, n) => part(item, expected[n], depth + 1)) : actual;
  }
  const named = Object.keys(expected).filter((key) => key in actual);
  return Object.fromEntries(named.map((key) => [key, part(actual[key], expected[key], depth + 1)]));
}

const maxShown = 32 << 10;

// pretty returns a value as JSON with sorted keys, as far as it is JSON. What differs in type only is shown with its type.
function pretty(value) {
  const lines = [];
  let size = 0;
  const put = (line) => {
    size += line.length + 1;
    if (size <= maxShown) {
      lines.push(line);
    }
  };
  const walk = (v, before, after, indent, ancestors) => {
    const opened = isObject(v) && !isMatcher(v) && size <= maxShown ? parts(v) : null;
    if (opened === null) {
      return put(indent + before + scalar(v) + after);
    }
    if (ancestors.includes(v)) {
      return put(indent + before + "[Circular]" + after);
    }
    if (opened.items.length === 0) {
      return put(indent + before + opened.open + opened.close + after);
    }
    put(indent + before + opened.open);
    opened.items.forEach(([label, item], n) => walk(item, label, n + 1 < opened.items.length ? "," : "", indent + "  ", [...ancestors, v]));
    put(indent + opened.close + after);
  };
  walk(value, "", "", "", []);
  return lines.join("\n") + (size > maxShown ? "\n..." : "");
}

// parts returns how the contents of an object are shown, or null if they are not.
function parts(v) {
  const type = v.constructor?.name;
  const name = type === undefined || type === "Object" || type === "Array" ? "" : `${type} `;
  switch (kindOf(v)) {
    case "Date":
    case "RegExp":
    case "Error":
    case "Number":
    case "String":
    case "Boolean":
    case "Promise":
      return null;
    case "Array":
      return { open: `${name}[`, close: "]", items: Array.from(v, (item) => ["", item]) };
    case "Set":
      return { open: "Set [", close: "]", items: [...v].map((item) => ["", item]) };
    case "Map":
      return { open: "Map {", close: "}", items: [...v].map(([key, item]) => [`${inline(key)} => `, item]) };
    default:
      return { open: `${name}{`, close: "}", items: Object.keys(v).sort().map((key) => [`${JSON.stringify(key)}: `, v[key]]) };
  }
}

function scalar(v) {
  if (isMatcher(v)) {
    return v.toString();
  }
  switch (typeof v) {
    case "string":
      return JSON.stringify(v.length > maxShown ? `${v.slice(0, maxShown)}...` : v);
    case "number":
      return Object.is(v, -0) ? "-0" : String(v);
    case "bigint":
      return `${v}n`;
    case "function":
      return `[Function ${v.name || "anonymous"}]`;
    case "symbol":
      return String(v);
    case "object":
      return v === null ? "null" : closed(v, kindOf(v));
    default:
      return String(v);
  }
}

// closed returns an object whose contents are not shown in lines.
function closed(v, kind) {
  switch (kind) {
    case "Error":
      return `[${v.name}: ${v.message}]`;
    case "Date":
      return `Date ${JSON.stringify(v)}`;
    default:
      return `${kind} ${String(v)}`;
  }
}

// inline returns a value in one line.
function inline(value) {
  const text = pretty(value).replace(/\n\s*/g, " ");
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}

// compared returns the result of a matcher that compares with a value. Values that take lines are shown as a difference.
function compared(pass, actual, expected, shown = actual) {
  const flat = (v) => !isObject(v) || isMatcher(v) || parts(v) === null;
  const long = (v) => typeof v === "string" && v.includes("\n");
  const diff = (flat(actual) && flat(expected)) || long(actual) !== long(expected) ? undefined : [expected, shown];
  const message = diff === undefined ? `want ${inline(expected)}, got ${inline(actual)}` : "the values differ";
  return { pass, diff, message, unwanted: `got ${inline(actual)}` };
}

function told(pass, actual, wanted) {
  return { pass, message: `want ${wanted}, got ${inline(actual)}`, unwanted: `got ${inline(actual)}` };
}

function ordered(wanted, holds) {
  return (actual, [expected]) => {
    for (const v of [actual, expected]) {
      if (typeof v !== "number" && typeof v !== "bigint") {
        throw new Failure(`compares numbers, got ${inline(v)}`);
      }
    }
    return told(holds(actual, expected), actual, `${wanted} ${inline(expected)}`);
  };
}

function found(list, holds) {
  if (list === null || list === undefined || typeof list[Symbol.iterator] !== "function") {
    throw new Failure(`looks into lists and texts, got ${inline(list)}`);
  }
  return [...list].some(holds);
}

function toContain(actual, [expected]) {
  const pass = typeof actual === "string" ? actual.includes(String(expected)) : found(actual, (item) => Object.is(item, expected));
  return told(pass, actual, `${typeof actual === "string" ? "a text" : "a list"} with ${inline(expected)}`);
}

function toHaveProperty(actual, [path, ...value]) {
  const names = Array.isArray(path) ? path : String(path).split(/[.[\]]/).filter((name) => name !== "");
  let at = actual;
  for (const [n, name] of names.entries()) {
    if (at === null || at === undefined || !(name in Object(at))) {
      return { ...told(false, at, `a property ${inline(names.slice(0, n + 1).join("."))}`), unwanted: "" };
    }
    at = at[name];
  }
  const result = value.length === 0 ? told(true, at, "") : compared(equals(at, value[0]), at, value[0]);
  return { ...result, message: `${names.join(".")}: ${result.message}`, unwanted: `${names.join(".")}: ${result.unwanted}` };
}

function toThrow(actual, [expected], rejected) {
  let thrown = rejected ? { value: actual } : undefined;
  if (!rejected) {
    if (typeof actual !== "function") {
      throw new Failure(`takes a function, got ${inline(actual)}: write expect(() => ...)`);
    }
    try {
      actual();
    } catch (e) {
      thrown = { value: e };
    }
  }
  if (thrown === undefined) {
    return { pass: false, message: "the function threw nothing", unwanted: "" };
  }
  const message = isObject(thrown.value) && "message" in thrown.value ? thrown.value.message : String(thrown.value);
  const result = (pass, wanted) => ({ pass, message: `want ${wanted}, got ${inline(message)}`, unwanted: `threw ${inline(message)}` });
  switch (true) {
    case expected === undefined:
      return result(true, "an error");
    case typeof expected === "string":
      return result(String(message).includes(expected), `an error with ${inline(expected)}`);
    case kindOf(expected) === "RegExp":
      return result(expected.test(message), `an error that matches ${expected}`);
    case typeof expected === "function":
      return result(thrown.value instanceof expected, `an error of class ${expected.name}`);
    case isMatcher(expected):
      return result(expected.asymmetricMatch(thrown.value), `an error that is ${expected}`);
    default:
      return result(message === expected.message, `an error with the message ${inline(expected.message)}`);
  }
}

const table = {
  toBe(actual, [expected]) {
    const result = compared(Object.is(actual, expected), actual, expected);
    const equal = !result.pass && equals(actual, expected);
    return equal ? { ...result, diff: undefined, message: "the values are equal and not the same: use toEqual" } : result;
  },
  toEqual: (actual, [expected]) => compared(equals(actual, expected), actual, expected),
  toStrictEqual(actual, [expected]) {
    const result = compared(equals(actual, expected, true), actual, expected);
    const loose = !result.pass && equals(actual, expected);
    return loose ? { ...result, message: "the values differ in types or in fields that are undefined" } : result;
  },
  toMatchObject(actual, [expected]) {
    if (!isObject(expected)) {
      throw new Failure(`takes an object, got ${inline(expected)}`);
    }
    return compared(contains(actual, expected), actual, expected, part(actual, expected));
  },
  toThrow,
  toThrowError: toThrow,
  toContain,
  toContainEqual: (actual, [expected]) => told(found(actual, (item) => equals(item, expected)), actual, `a list with ${inline(expected)}`),
  toHaveLength: (actual, [expected]) => told(actual?.length === expected, actual, `a length of ${expected}, not ${inline(actual?.length)}`),
  toHaveProperty,
  toMatch(actual, [expected]) {
    const pass = typeof actual === "string" && (kindOf(expected) === "RegExp" ? expected.test(actual) : actual.includes(String(expected)));
    return told(pass, actual, kindOf(expected) === "RegExp" ? `a text that matches ${expected}` : `a text with ${inline(expected)}`);
  },
  toBeDefined: (actual) => told(actual !== undefined, actual, "any value"),
  toBeUndefined: (actual) => told(actual === undefined, actual, "undefined"),
  toBeNull: (actual) => told(actual === null, actual, "null"),
  toBeNaN: (actual) => told(Number.isNaN(actual), actual, "NaN"),
  toBeTruthy: (actual) => told(Boolean(actual), actual, "a true value"),
  toBeFalsy: (actual) => told(!actual, actual, "a false value"),
  toBeGreaterThan: ordered("more than", (a, b) => a > b),
  toBeGreaterThanOrEqual: ordered("at least", (a, b) => a >= b),
  toBeLessThan: ordered("less than", (a, b) => a < b),
  toBeLessThanOrEqual: ordered("at most", (a, b) => a <= b),
  toBeCloseTo: (actual, [expected, digits = 2]) =>
    told(isClose(actual, expected, digits), actual, `${inline(expected)} within ${digits} digits`),
  toBeInstanceOf: (actual, [expected]) => told(actual instanceof expected, actual, `an instance of ${expected.name}`),
};

const isClose = (a, b, digits) => Object.is(a, b) || Math.abs(a - b) < 10 ** -digits / 2;

function matcher(name, given, holds, negated) {
  const shown = given === undefined ? name : `${name}(${typeof given === "function" ? given.name : inline(given)})`;
  return { asymmetricMatch: (actual) => holds(actual) !== negated, toString: () => (negated ? `not.${shown}` : shown) };
}

function isOf(actual, type) {
  const primitives = { String: "string", Number: "number", Boolean: "boolean", BigInt: "bigint", Symbol: "symbol", Function: "function" };
  if (type === Object) {
    return typeof actual === "object";
  }
  return typeof actual === primitives[type.name] || actual instanceof type;
}

function builders(negated) {
  const parts = (expected) => (actual) =>
    isObject(actual) && Object.keys(expected).every((key) => key in actual && equals(actual[key], expected[key]));
  const items = (expected) => (actual) => Array.isArray(actual) && expected.every((item) => actual.some((one) => equals(one, item)));
  return {
    objectContaining: (expected) => matcher("objectContaining", expected, parts(expected), negated),
    arrayContaining: (expected) => matcher("arrayContaining", expected, items(expected), negated),
    stringContaining: (expected) => matcher("stringContaining", expected, (v) => typeof v === "string" && v.includes(expected), negated),
    stringMatching: (expected) => matcher("stringMatching", expected, (v) => typeof v === "string" && new RegExp(expected).test(v), negated),
    closeTo: (expected, digits = 2) => matcher("closeTo", expected, (v) => typeof v === "number" && isClose(v, expected, digits), negated),
  };
}

export const asymmetric = {
  ...builders(false),
  any: (type) => matcher("any", type, (v) => isOf(v, type), false),
  anything: () => matcher("anything", undefined, (v) => v !== null && v !== undefined, false),
  not: builders(true),
};

export const matchers = { table, pretty, inline };
