const soon = 30 * 24 * 3600 * 1000;

// expiryOf returns whether a time is far, soon or past, and after how many milliseconds that changes. 0 is never.
export function expiryOf(notAfter: string, now: number): { state: "far" | "soon" | "past"; nextChange: number } {
  const left = Date.parse(notAfter) - now;
  if (Number.isNaN(left)) throw new Error(`"${notAfter}" is no time, such as 2026-03-01T00:00:00Z`);
  if (left <= 0) return { state: "past", nextChange: 0 };
  return left <= soon ? { state: "soon", nextChange: left } : { state: "far", nextChange: left - soon };
}
