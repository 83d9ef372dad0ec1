/** @import { MapRequest, MapResponse } from "./resources" */

// map is called for each Namespace that {{.Article}} {{.Kind}} selects, whenever one of the two, or an output, has changed. It
// answers with all outputs of that Namespace. The host creates, updates and deletes.
/** @param {MapRequest} request @returns {MapResponse} */
export function map({ parent, input }) {
  return {
    outputs: [{
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { namespace: input.metadata.name, name: parent.metadata.name },
      spec: { hard: { pods: String(parent.spec.pods) } },
    }],
  };
}
