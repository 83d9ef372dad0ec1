/** @import { CompositeRequest, CompositeResponse } from "libretto" */
import { hash } from "libretto";
/** @param {CompositeRequest} request @returns {CompositeResponse} */
export function sync({ parent }) {
  return { children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${parent.metadata.name}-${hash(parent.spec)}` } }] };
}
