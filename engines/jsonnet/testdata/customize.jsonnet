function(request) {
  local metadata = request.parent.metadata,
  relatedResources: [
    { apiVersion: 'v1', resource: 'configmaps', labelSelector: { matchLabels: { app: metadata.name } } },
    {
      apiVersion: 'v1',
      resource: 'secrets',
      namespace: metadata.namespace,
      names: ['%s.%s' % [metadata.name, secret] for secret in request.parent.spec.secrets],
    },
  ],
}
