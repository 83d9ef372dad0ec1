// The module "libretto/test" for JavaScript: tests with the names of jest and vitest. test.d.ts has its types.
import { asymmetric, Failure, matchers } from "libretto/test/matchers";

// registry is the groups and tests of the file. Each call has its own. To list, all are kept, and to run some, those.
const registry = { count: 0, wanted: null, tests: [], group: newGroup(null, "", ""), running: false };

function newGroup(parent, name, mode) {
  return { parent, name, mode, beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] };
}

function register(name, first, second, mode) {
  if (registry.running) {
    throw new Error(`test: ${show(name)} is inside of a test: put it beside the other one, or both into describe`);
  }
  const [options, body] = typeof first === "function" ? [second, first] : [first, second];
  if (mode !== "todo" && typeof body !== "function") {
    throw new Error(`test: ${show(name)} has no function: add one, or use test.todo`);
  }
  const timeout = typeof options === "number" ? options : options?.timeout;
  const stack = registry.wanted === null ? librettoStack().stack : [];
  registry.tests.push({ name: show(name), body, mode, timeout, group: registry.group, stack });
}

function show(name) {
  return typeof name === "function" ? name.name : String(name);
}

function group(name, body, mode) {
  if (registry.running) {
    throw new Error(`describe: ${show(name)} is inside of a test`);
  }
  const before = registry.group;
  registry.group = newGroup(before, show(name), mode);
  const result = body();
  registry.group = before;
  if (typeof result?.then === "function") {
    throw new Error(`describe: the function of ${show(name)} is async: only tests may be`);
  }
}

function withEach(one) {
  one.each = (table, ...values) => (name, body, options) => {
    rows(table, values).forEach((row, index) => {
      const given = Array.isArray(row) ? row : [row];
      one(title(show(name), row, given, index), () => body(...given), options);
    });
  };
  return one;
}

// rows returns the rows of a table: of an array, or of a text `a | b` with values.
function rows(table, values) {
  if (!Array.isArray(table)) {
    throw new Error("each: takes an array");
  }
  if (table.raw === undefined) {
    return table;
  }
  const names = table[0].split("|").map((name) => name.trim());
  if (values.length % names.length !== 0) {
    throw new Error(`each: ${values.length} values do not fill rows of ${names.length}: ${names.join(", ")}`);
  }
  const all = [];
  for (let at = 0; at < values.length; at += names.length) {
    all.push(Object.fromEntries(names.map((name, n) => [name, values[at + n]])));
  }
  return all;
}

// title replaces %s and the like by the values of a row, and $name by its fields.
function title(name, row, given, index) {
  let next = 0;
  const text = name.replace(/%([sdifjopc#%])/g, (all, kind) => {
    if (kind === "%") {
      return "%";
    }
    if (kind === "#") {
      return String(index);
    }
    if (next >= given.length) {
      return all;
    }
    const value = given[next++];
    if (kind === "i") {
      return String(Math.trunc(Number(value)));
    }
    if (kind === "d" || kind === "f") {
      return String(Number(value));
    }
    return kind === "s" && typeof value !== "object" ? String(value) : matchers.inline(value);
  });
  if (row === null || typeof row !== "object" || Array.isArray(row)) {
    return text;
  }
  return text.replace(/\$([A-Za-z_][\w.]*|#)/g, (all, path) => {
    if (path === "#") {
      return String(index);
    }
    const value = path.split(".").reduce((from, field) => from?.[field], row);
    return value === undefined ? all : typeof value === "string" ? value : matchers.inline(value);
  });
}

// ofMode returns a function that registers tests. It is called for each test of a file in each call: so it first skips those that are
// not wanted.
const ofMode = (mode) =>
  withEach((name, first, second) => {
    const index = registry.count++;
    if (registry.running || registry.wanted === null || registry.wanted.has(index)) {
      register(name, first, second, mode);
    }
  });
const groupOf = (mode) => withEach((name, body) => group(name, body, mode));

export const test = Object.assign(ofMode(""), { skip: ofMode("skip"), only: ofMode("only"), todo: ofMode("todo") });
export const it = test;
export const describe = Object.assign(groupOf(""), { skip: groupOf("skip"), only: groupOf("only") });
export const beforeAll = (body) => void registry.group.beforeAll.push(body);
export const beforeEach = (body) => void registry.group.beforeEach.push(body);
export const afterEach = (body) => void registry.group.afterEach.unshift(body);
export const afterAll = (body) => void registry.group.afterAll.unshift(body);

// Expectation is what expect returns: a method for each matcher, which throws a Failure.
class Expectation {
  constructor(actual, negated, unwrap) {
    Object.defineProperties(this, { actual: { value: actual }, negated: { value: negated }, unwrap: { value: unwrap } });
  }
  get not() {
    return new Expectation(this.actual, !this.negated, this.unwrap);
  }
  get resolves() {
    return new Expectation(this.actual, this.negated, "resolves");
  }
  get rejects() {
    return new Expectation(this.actual, this.negated, "rejects");
  }
}

for (const [name, matches] of Object.entries(matchers.table)) {
  Expectation.prototype[name] = function (...expected) {
    if (this.unwrap === undefined) {
      return check(name, matches, this.actual, expected, this.negated, false);
    }
    const rejected = this.unwrap === "rejects";
    return settle(this.actual, this.unwrap).then((actual) => check(name, matches, actual, expected, this.negated, rejected));
  };
}

async function settle(promise, how) {
  let value, thrown;
  try {
    value = await (typeof promise === "function" ? promise() : promise);
  } catch (e) {
    thrown = { value: e };
  }
  if ((thrown !== undefined) === (how === "rejects")) {
    return thrown === undefined ? value : thrown.value;
  }
  if (thrown === undefined) {
    throw new Failure(`rejects: the promise resolved to ${matchers.inline(value)}`);
  }
  throw new Failure(`resolves: the promise was rejected: ${matchers.inline(thrown.value)}`);
}

function check(name, matches, actual, expected, negated, thrown) {
  const label = (negated ? "not." : "") + name;
  let result;
  try {
    result = matches(actual, expected, thrown);
  } catch (e) {
    throw e instanceof Failure ? new Failure(`${label}: ${e.message}`) : e;
  }
  if (result.pass !== negated) {
    return;
  }
  const failure = new Failure(`${label}: ${negated ? result.unwanted : result.message}`);
  if (!negated && result.diff) {
    failure.expected = matchers.pretty(result.diff[0]);
    failure.actual = matchers.pretty(result.diff[1]);
  }
  throw failure;
}

export const expect = Object.assign((actual) => new Expectation(actual, false, undefined), asymmetric);

// librettoRun lists the tests that load registers, or runs those that the request names.
export async function librettoRun(request, load) {
  registry.wanted = request.run === undefined ? null : new Set(request.run);
  load();
  if (registry.wanted === null) {
    return registry.tests.map(listed);
  }
  const results = [];
  registry.running = true;
  for (const one of registry.tests) {
    const result = await run(one);
    results.push({ ...result, logs: librettoStack().lines });
  }
  return results;
}

function listed(one) {
  const names = [one.name];
  let mode = one.mode;
  for (let of = one.group; of.parent !== null; of = of.parent) {
    names.unshift(of.name);
    if (of.mode === "skip" || (of.mode === "only" && mode === "")) {
      mode = mode === "todo" ? mode : of.mode;
    }
  }
  return { name: names.join(" > "), mode, timeout: one.timeout, stack: one.stack };
}

async function run(one) {
  const groups = [];
  for (let of = one.group; of !== null; of = of.parent) {
    groups.unshift(of);
  }
  let failure;
  try {
    for (const body of [...groups.flatMap((of) => of.beforeAll), ...groups.flatMap((of) => of.beforeEach)]) {
      await body();
    }
    await one.body({ expect });
  } catch (e) {
    failure = failed(e);
  }
  groups.reverse();
  for (const body of [...groups.flatMap((of) => of.afterEach), ...groups.flatMap((of) => of.afterAll)]) {
    try {
      await body();
    } catch (e) {
      failure ??= failed(e);
    }
  }
  return failure ?? {};
}

function failed(e) {
  const { message, stack } = librettoStack(e);
  return e instanceof Failure ? { message: e.message, expected: e.expected, actual: e.actual, stack } : { message, stack };
}
