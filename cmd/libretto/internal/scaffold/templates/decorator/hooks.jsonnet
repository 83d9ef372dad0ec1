local annotation = '{{.Group}}/min-available';

local newBudget(object) = {
  local text = object.metadata.annotations[annotation],
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: object.metadata.name },
  spec: {
    minAvailable: if std.endsWith(text, '%') then text else std.parseInt(text),
    selector: object.spec.selector,
  },
};

{
  // sync is called whenever a Deployment with the annotation, or one of its attachments, has changed. It answers with all
  // attachments that should be there: a budget for the Deployment's Pods, as a number or a percentage.
  sync(request):: { attachments: [newBudget(request.object)] },

  // finalize is called in place of sync when the Deployment is deleted, and when it loses the annotation.
  finalize(request):: { attachments: [], finalized: true },
}
