import type { DecoratorRequest, DecoratorResponse } from "libretto";
import { expiryOf } from "./expiry";

export function sync({ object: { metadata } }: DecoratorRequest): Partial<DecoratorResponse> {
  const notAfter = metadata.annotations?.["example.com/not-after"] ?? "";
  const { state, nextChange } = expiryOf(notAfter, Date.now());
  const warning = {
    type: "Warning" as const,
    reason: state === "past" ? "Expired" : "ExpiresSoon",
    message: `the certificate is valid until ${notAfter}`,
  };
  return {
    labels: { "example.com/expiry": state },
    events: state === "far" ? [] : [warning],
    resyncAfterSeconds: nextChange / 1000,
  };
}
