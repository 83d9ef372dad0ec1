local libretto = import 'libretto';

local service(pod, port) = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: pod },
  spec: { type: 'LoadBalancer', selector: { 'statefulset.kubernetes.io/pod-name': pod }, ports: [{ port: port }] },
};

// addresses are those that the cloud has given to the Services so far.
local addresses(services) = [
  '%s=%s' % [s.metadata.name, std.get(s.status.loadBalancer.ingress[0], 'ip', std.get(s.status.loadBalancer.ingress[0], 'hostname'))]
  for s in services
  if std.get(std.get(std.get(s, 'status', {}), 'loadBalancer', {}), 'ingress', []) != []
];

{
  sync(request)::
    local metadata = request.object.metadata, spec = request.object.spec;
    local port = std.parseInt(metadata.annotations['example.com/expose']);
    local first = std.get(std.get(spec, 'ordinals', {}), 'start', 0);
    local known = addresses(libretto.objectsOf(request.attachments, 'v1', 'Service'));
    {
      annotations: { 'example.com/addresses': if known == [] then null else std.join(',', known) },
      attachments: [
        service('%s-%d' % [metadata.name, ordinal], port)
        for ordinal in std.range(first, first + spec.replicas - 1)
      ],
    },

  finalize(request):: { annotations: { 'example.com/addresses': null }, attachments: [], finalized: true },
}
