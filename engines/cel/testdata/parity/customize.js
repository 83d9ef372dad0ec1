export function customize({ parent: { metadata, spec } }) {
  const rules = [{ apiVersion: "v1", resource: "configmaps", namespace: metadata.namespace, names: [`${metadata.name}-config`] }];
  if (spec.selector !== undefined) {
    rules.push({ apiVersion: "v1", resource: "secrets", labelSelector: spec.selector });
  }
  return { relatedResources: rules };
}
