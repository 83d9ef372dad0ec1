local annotation = 'ctl.example.com/pod-services';

function(request)
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
  }
