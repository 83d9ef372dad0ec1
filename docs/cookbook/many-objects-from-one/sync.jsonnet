local objectsOf(tenant) =
  local name = 'tenant-' + tenant.name;
  [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: name, labels: { 'example.com/tenant': tenant.name } } },
    {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { namespace: name, name: 'tenant' },
      spec: { hard: { 'requests.cpu': tenant.cpu, 'requests.memory': tenant.memory } },
    },
  ];

function(request) {
  local tenants = request.parent.spec.tenants,
  status: { tenants: std.length(tenants) },
  children: std.flatMap(objectsOf, tenants),
}
