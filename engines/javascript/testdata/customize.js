export function customize({parent}) {
  const {name, namespace} = parent.metadata;
  return {
    relatedResources: [
      {apiVersion: 'v1', resource: 'configmaps', labelSelector: {matchLabels: {app: name}}},
      {apiVersion: 'v1', resource: 'secrets', namespace, names: parent.spec.secrets.map(secret => `${name}.${secret}`)},
    ],
  };
}
