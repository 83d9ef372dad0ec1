// VitessCell: a cell's own topology server if it has one, its record in the global one, and its vtgates.

local etcd = import 'lib/etcd.libsonnet';
local flags = import 'lib/flags.libsonnet';
local job = import 'lib/job.libsonnet';
local libretto = import 'libretto';
local names = import 'lib/names.libsonnet';
local stages = import 'lib/stages.libsonnet';
local workloads = import 'lib/workloads.libsonnet';

local users = { name: 'users', mountPath: '/vt/users', readOnly: true };

// The Secret with the users of vtgate, as a file in each vtgate.
local withUsers(secret) = if secret == null then {} else {
  containers: [super.containers[0] { volumeMounts: [users] }],
  volumes: [{ name: users.name, secret: { secretName: secret } }],
};

local vtgate(cell) = {
  local spec = cell.spec,
  local secret = std.get(spec, 'users'),
  local file = if secret == null then null else users.mountPath + '/users.json',
  name: cell.metadata.name + '-vtgate',
  labels: names.labels({ component: 'vtgate', cluster: spec.cluster, cell: spec.cell }),
  service: workloads.service(self.name, self.labels, flags.ports),
  deployment: workloads.deployment(self.name, self.labels, spec.vtgate.replicas, {
    containers: [
      workloads.container('vtgate', spec.template, flags.vtgate(spec.globalTopology, spec.cell, spec.cells, file))
      + workloads.web()
      + workloads.ports(['grpc', 'mysql']),
    ],
  } + withUsers(secret) + workloads.inZone(std.get(spec, 'zone'))),
};

local stagesOf(cell) =
  local spec = cell.spec;
  local namespace = cell.metadata.namespace;
  local name = cell.metadata.name;
  local own = std.get(spec, 'topology');
  local fields = { cluster: spec.cluster, cell: spec.cell };
  local labels = names.labels(fields { component: 'job' });
  local gate = vtgate(cell);
  // Without a topology server of its own a cell has a folder in the global one.
  local address = if own == null then spec.globalTopology.address else etcd.address(names.etcd(name), namespace);
  [
    {
      name: 'Topology',
      objects: if own == null then []
      else etcd.objects(names.etcd(name), namespace, fields, own, spec.template, std.get(spec, 'zone')),
    },
    {
      name: 'Registration',
      objects: [job.job(name + '-register', labels, spec.globalTopology, spec.template, [
        ['UpdateCellInfo', '--root=/vitess/' + spec.cell, '--server-address=' + address, spec.cell],
      ])],
      undo: job.undo(name + '-unregister', labels, spec.globalTopology, spec.template, [
        ['DeleteCellInfo', '--force', spec.cell],
      ]),
    },
    { name: 'Vtgate', objects: [gate.service, gate.deployment] },
  ];

local statusOf(request) =
  local vtgates = [
    std.get(deployment, 'status', {})
    for deployment in libretto.objectsOf(request.children, 'apps/v1', 'Deployment')
  ];
  {
    vtgates: std.sum([std.get(vtgate, 'replicas', 0) for vtgate in vtgates]),
    readyVtgates: std.sum([std.get(vtgate, 'readyReplicas', 0) for vtgate in vtgates]),
  };

{
  sync(request)::
    local plan = stages.sync(request, stagesOf(request.parent));
    { children: plan.children, status: statusOf(request) + { conditions: plan.conditions } },

  finalize(request)::
    local plan = stages.finalize(request, stagesOf(request.parent));
    { children: plan.children, status: statusOf(request) + { conditions: plan.conditions }, finalized: plan.finalized },
}
