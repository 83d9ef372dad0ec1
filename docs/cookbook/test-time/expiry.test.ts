import { describe, expect, test } from "libretto/test";
import { expiryOf } from "./expiry";

const at = (time: string) => Date.parse(time);
const day = 24 * 3600 * 1000;

describe("expiryOf", () => {
  test.each([
    ["2026-01-01T00:00:00Z", "far", 29 * day],
    ["2026-01-30T00:00:00Z", "soon", 30 * day],
    ["2026-03-01T00:00:00Z", "past", 0],
    ["2030-01-01T00:00:00Z", "past", 0],
  ])("at %s it is %s", (now, state, nextChange) => {
    expect(expiryOf("2026-03-01T00:00:00Z", at(now))).toEqual({ state, nextChange });
  });
  test("knows zones, and days of a leap year", () => {
    expect(expiryOf("2028-02-29T01:00:00+01:00", at("2028-02-29T00:00:00Z")).state).toBe("past");
  });
  test.each([[""], ["tomorrow"], ["2026-13-01"]])("refuses %s", (text) => {
    expect(() => expiryOf(text, 0)).toThrow("is no time");
  });
});
