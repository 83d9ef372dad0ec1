// VitessCell: a cell's own topology server if it has one, its record in the global one, and its vtgates.

local etcd = import 'lib/etcd.libsonnet';
local flags = import 'lib/flags.libsonnet';
local job = import 'lib/job.libsonnet';
local libretto = import 'libretto';
local names = import 'lib/names.libsonnet';
local stages = import 'lib/stages.libsonnet';
local status = import 'lib/status.libsonnet';
local workloads = import 'lib/workloads.libsonnet';

// The Secret with the users of vtgate is a file in each vtgate.
local users = { name: 'users', mountPath: '/vt/users', readOnly: true };

local vtgate(cell) =
  local spec = cell.spec;
  local name = cell.metadata.name + '-vtgate';
  local labels = names.labels({ component: 'vtgate', cluster: spec.cluster, cell: spec.cell });
  local secret = std.get(spec, 'users');
  local file = if secret != null then users.mountPath + '/users.json';
  local container =
    workloads.container('vtgate', spec.template, flags.vtgate(spec.globalTopology, spec.cell, spec.cells, file))
    + workloads.web()
    + workloads.ports(['grpc', 'mysql'])
    + (if secret == null then {} else { volumeMounts: [users] });
  local volumes = if secret == null then {} else { volumes: [{ name: users.name, secret: { secretName: secret } }] };
  [
    workloads.service(name, labels, flags.ports),
    workloads.deployment(
      name,
      labels,
      spec.vtgate.replicas,
      workloads.podSpec({ containers: [container] } + volumes, std.get(spec, 'zone')),
    ),
  ];

// topology is the cell's own topology server. Without one it has a folder in the global one.
local topology(cell) =
  local spec = cell.spec;
  local name = names.etcd(cell.metadata.name);
  local namespace = cell.metadata.namespace;
  if !std.objectHas(spec, 'topology') then { address: spec.globalTopology.address, objects: [] }
  else {
    address: etcd.address(name, namespace),
    objects: etcd.objects(
      name,
      namespace,
      { cluster: spec.cluster, cell: spec.cell },
      spec.topology,
      spec.template,
      std.get(spec, 'zone'),
    ),
  };

// registration are the Jobs that write the cell's record into the global topology server, and take it back.
local registration(cell) =
  local spec = cell.spec;
  local name = cell.metadata.name;
  local labels = names.labels({ component: 'job', cluster: spec.cluster, cell: spec.cell });
  {
    job: job.job(name + '-register', labels, spec.globalTopology, spec.template, [
      ['UpdateCellInfo', '--root=/vitess/' + spec.cell, '--server-address=' + topology(cell).address, spec.cell],
    ]),
    undo: job.undo(name + '-unregister', labels, spec.globalTopology, spec.template, [
      ['DeleteCellInfo', '--force', spec.cell],
    ]),
  };

local stagesOf(cell) = [
  { name: 'Topology', objects: topology(cell).objects },
  { name: 'Registration', objects: [registration(cell).job], undo: registration(cell).undo },
  { name: 'Vtgate', objects: vtgate(cell) },
];

local statusOf(request) =
  local vtgates = libretto.objectsOf(request.children, 'apps/v1', 'Deployment');
  local cell = request.parent;
  {
    vtgates: status.sum(vtgates, 'replicas'),
    readyVtgates: status.sum(vtgates, 'readyReplicas'),
    // What keyspaces wait for.
    conditions: [libretto.readyCondition(request.children, [registration(cell).job], cell, 'Registered')],
  };

local globalTopology(request) =
  local cell = request.parent;
  std.get(request.related['StatefulSet.apps/v1'], '%s/%s' % [cell.metadata.namespace, names.etcd(cell.spec.cluster)]);

{
  customize(request):: {
    local cell = request.parent,
    relatedResources: [{
      apiVersion: 'apps/v1',
      resource: 'statefulsets',
      namespace: cell.metadata.namespace,
      names: [names.etcd(cell.spec.cluster)],
    }],
  },

  sync(request)::
    if etcd.hasQuorum(globalTopology(request))
    then stages.sync(request, stagesOf(request.parent), statusOf(request))
    else stages.wait('TopologyNotReady', 'the global topology server has no quorum', statusOf(request)),

  finalize(request):: stages.finalize(request, stagesOf(request.parent), statusOf(request)),
}
