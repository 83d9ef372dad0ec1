function(request) {
  local queue = request.parent,
  local name = queue.metadata.name,
  local labels = { app: name },
  local observed = request.children['StatefulSet.apps/v1'],
  local ready =
    if std.objectHas(observed, name) && std.objectHas(observed[name], 'status') && std.objectHas(observed[name].status, 'readyReplicas')
    then observed[name].status.readyReplicas
    else 0,

  status: {
    ready: ready,
    phase: if ready == queue.spec.replicas then 'Running' else 'Starting',
  },
  children: [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: name },
      spec: { clusterIP: 'None', selector: labels, ports: [{ port: 5672 }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: name },
      spec: {
        serviceName: name,
        replicas: queue.spec.replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels: labels }, spec: { containers: [{ name: 'queue', image: queue.spec.image }] } },
      },
    },
  ],
}
