// The types of the module "libretto/test", for files *.test.js and *.test.ts, which libretto test runs. The names are those of jest
// and vitest. Each test runs in a state of its own, without timers, files or network, for at most 10 seconds.
declare module "libretto/test" {
  type Awaitable<T> = T | Promise<T>;
  type Body = (context: { expect: Expect }) => Awaitable<unknown>;
  /** Milliseconds, which can be less than the limit alone. */
  type Timeout = number | { timeout?: number };

  interface Each<Extra extends unknown[]> {
    /** One for each row. In the name, %s, %d, %i, %f, %j, %o and %p stand for values, %# for the index, $field for a field. */
    <Row extends readonly [unknown, ...unknown[]]>(table: readonly Row[]): (name: string, body: (...row: Row) => Awaitable<unknown>, ...extra: Extra) => void;
    <Row>(table: readonly Row[]): (name: string, body: (row: Row) => Awaitable<unknown>, ...extra: Extra) => void;
    /** Rows as text: each`a | b` with ${values} below. */
    (table: TemplateStringsArray, ...values: unknown[]): (name: string, body: (row: any) => Awaitable<unknown>, ...extra: Extra) => void;
  }

  interface OneTest {
    (name: string, body: Body, timeout?: Timeout): void;
    (name: string, timeout: Timeout, body: Body): void;
    each: Each<[timeout?: Timeout]>;
  }
  interface Group {
    (name: string | Function, body: () => void): void;
    each: Each<[]>;
  }

  export const test: OneTest & { skip: OneTest; only: OneTest; todo: (name: string) => void };
  export const it: typeof test;
  export const describe: Group & { skip: Group; only: Group };
  export function beforeAll(body: () => Awaitable<unknown>): void;
  export function beforeEach(body: () => Awaitable<unknown>): void;
  export function afterEach(body: () => Awaitable<unknown>): void;
  export function afterAll(body: () => Awaitable<unknown>): void;

  interface Matchers<Result> {
    /** What follows must not hold. */
    not: Matchers<Result>;
    /** The same value, as Object.is has it. */
    toBe(expected: unknown): Result;
    /** Equal, without regard to types and to fields that are undefined. */
    toEqual(expected: unknown): Result;
    /** Equal, types and fields that are undefined included. */
    toStrictEqual(expected: unknown): Result;
    /** An object with at least these fields. Arrays are compared item by item. */
    toMatchObject(expected: object): Result;
    /** A function that throws: any error, one with this text, pattern, class or message. */
    toThrow(expected?: string | RegExp | Function | Error | Asymmetric): Result;
    toThrowError(expected?: string | RegExp | Function | Error | Asymmetric): Result;
    toContain(item: unknown): Result;
    toContainEqual(item: unknown): Result;
    toHaveLength(length: number): Result;
    /** A property at a path, such as "a.b[0]" or ["a", "b", 0], with a value if one is given. */
    toHaveProperty(path: string | readonly (string | number)[], value?: unknown): Result;
    toMatch(expected: string | RegExp): Result;
    toBeDefined(): Result;
    toBeUndefined(): Result;
    toBeNull(): Result;
    toBeNaN(): Result;
    toBeTruthy(): Result;
    toBeFalsy(): Result;
    toBeGreaterThan(n: number | bigint): Result;
    toBeGreaterThanOrEqual(n: number | bigint): Result;
    toBeLessThan(n: number | bigint): Result;
    toBeLessThanOrEqual(n: number | bigint): Result;
    toBeCloseTo(n: number, digits?: number): Result;
    toBeInstanceOf(type: Function): Result;
  }
  interface Expectation extends Matchers<void> {
    /** The value of a promise that resolves. Await it. */
    resolves: Matchers<Promise<void>>;
    /** The error of a promise that is rejected. Await it. */
    rejects: Matchers<Promise<void>>;
  }
  interface Asymmetric {
    asymmetricMatch(actual: unknown): boolean;
  }
  interface Containing {
    objectContaining(fields: object): any;
    arrayContaining(items: readonly unknown[]): any;
    stringContaining(text: string): any;
    stringMatching(pattern: string | RegExp): any;
    closeTo(n: number, digits?: number): any;
  }
  interface Expect extends Containing {
    (actual: unknown): Expectation;
    any(type: Function): any;
    anything(): any;
    not: Containing;
  }
  export const expect: Expect;
}

/** A YAML file beside a test, as text: parseYAML of libretto returns its value. */
declare module "*.yaml" {
  const text: string;
  export default text;
}
