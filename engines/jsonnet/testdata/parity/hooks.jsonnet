// Hooks of all kinds, written twice: hooks.js answers the same.
local annotation = 'ctl.example.com/pod-services';

{
  sync(request):
    local object = request.object;
    local ports = [
      { name: 'port-%d' % port, port: port }
      for port in std.map(std.parseInt, std.split(object.metadata.annotations[annotation], ','))
    ];
    local first = std.get(std.get(object.spec, 'ordinals', {}), 'start', 0);
    local service(name) = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: name },
      spec: { selector: { 'statefulset.kubernetes.io/pod-name': name }, ports: ports },
    };
    {
      labels: { 'pod-services': '%d' % std.length(ports), old: null },
      attachments: [service('%s-%d' % [object.metadata.name, first + i]) for i in std.range(0, object.spec.replicas - 1)],
    },

  finalize(request): {
    local left = std.flatMap(std.objectValues, std.objectValues(request.attachments)),
    attachments: [],
    finalized: std.length(left) == 0,
    resyncAfterSeconds: 2.5,
  },

  customize(request): {
    local metadata = request.parent.metadata,
    relatedResources: [
      { apiVersion: 'v1', resource: 'configmaps', labelSelector: { matchLabels: { app: metadata.name } } },
      {
        apiVersion: 'v1',
        resource: 'secrets',
        namespace: metadata.namespace,
        names: ['%s.%s' % [metadata.name, s] for s in request.parameters.secrets],
      },
    ],
  },

  map(request): {
    local input = request.input,
    local data = std.get(input, 'data', {}),
    outputs: [{
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: '%s-%s' % [request.parent.metadata.name, input.metadata.name] },
      data: {
        of: input.metadata.name,
        keys: std.join(' ', std.objectFields(data)),
        characters: '%d' % std.foldl(function(sum, key) sum + std.length(data[key]), std.objectFields(data), 0),
      },
    }],
  },
}
