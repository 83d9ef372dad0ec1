const groups = Object.groupBy([1, 2], (n) => (n > 1 ? "many" : "one"));
export const many: number[] = groups.many ?? [];
export const byMap = Map.groupBy(["a"], (s) => s.length).get(1);
export const all: Set<string | number> = new Set(["a"]).union(new Set([1]));
export const apart: boolean = new Set(["a"]).isDisjointFrom(new Map([["b", 1]]));
export const firsts: number[] = new Map([["a", 1]]).values().filter((n) => n > 0).take(2).toArray();
export const text: string = new TextDecoder("utf-8", { fatal: true }).decode(new TextEncoder().encode("a"));
export const base: string = Uint8Array.fromBase64("aGk=").toBase64({ alphabet: "base64url" });
export const big: bigint = BigInt(1);
export const yes: boolean = Error.isError(1);
export class Numbers extends Iterator<number> { next() { return { done: true as const, value: undefined }; } }
// @ts-expect-error there is one encoding
new TextDecoder("latin1");
// @ts-expect-error no timers
setTimeout(() => 1);
