globalThis.calls = (globalThis.calls ?? 0) + 1;
Array.prototype.calls = (Array.prototype.calls ?? 0) + 1;
let calls = 0;

export function sync(request) {
  calls++;
  return {calls: Math.max(calls, globalThis.calls, [].calls)};
}
