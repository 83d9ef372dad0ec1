/** @import { FinalizeResponse, SyncRequest, SyncResponse } from "./resources" */

const annotation = "{{.Group}}/min-available";

// sync is called whenever a Deployment with the annotation, or one of its attachments, has changed. It answers with all
// attachments that should be there: a budget for the Deployment's Pods, as a number or a percentage.
/** @param {SyncRequest} request @returns {SyncResponse} */
export function sync({ object }) {
  const text = object.metadata.annotations?.[annotation] ?? "";
  return {
    attachments: [{
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: object.metadata.name },
      spec: {
        minAvailable: text.endsWith("%") ? text : Number(text),
        selector: object.spec?.selector,
      },
    }],
  };
}

// finalize is called in place of sync when the Deployment is deleted, and when it loses the annotation.
/** @returns {FinalizeResponse} */
export function finalize() {
  return { attachments: [], finalized: true };
}
