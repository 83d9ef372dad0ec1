local label = 'example.com/open-to';

// policy selects all Pods of a namespace. What no policy lets in stays out.
local policy(namespace, name, ingress) = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace: namespace, name: name },
  spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: ingress },
};

{
  sync(request):: {
    local namespace = request.object.metadata.name,
    local labels = std.get(request.object.metadata, 'labels', {}),
    attachments: [
      policy(namespace, 'default-deny', []),
      policy(namespace, 'allow-same-namespace', [{ from: [{ podSelector: {} }] }]),
    ] + (
      if std.objectHas(labels, label) then
        local other = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': labels[label] } } };
        [policy(namespace, 'allow-' + labels[label], [{ from: [other] }])]
      else []
    ),
  },

  finalize(request):: { attachments: [], finalized: true },
}
