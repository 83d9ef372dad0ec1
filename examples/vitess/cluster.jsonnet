// VitessCluster: the global topology server, a vtctld, and an object for each cell and each keyspace.
//
// All children are there from the start. A cell waits by itself for the topology server, and a keyspace for its cells.

local etcd = import 'lib/etcd.libsonnet';
local flags = import 'lib/flags.libsonnet';
local health = import 'lib/health.libsonnet';
local libretto = import 'libretto';
local names = import 'lib/names.libsonnet';
local stages = import 'lib/stages.libsonnet';
local status = import 'lib/status.libsonnet';
local workloads = import 'lib/workloads.libsonnet';

// optional are the fields that are set.
local optional(fields) = { [name]: fields[name] for name in std.objectFields(fields) if fields[name] != null };

local childrenOf(request, kind) = libretto.objectsOf(request.children, names.apiVersion, kind);

// leaving are the cells that are no longer in the spec. They stay until the keyspaces are as desired, as tablets that are
// still in such a cell need its record.
local leaving(request, cells, keyspaces) =
  local others(kind, desired) = [
    object
    for object in childrenOf(request, kind)
    if !std.member([o.metadata.name for o in desired], object.metadata.name)
  ];
  local isDone(keyspace) =
    local observed = libretto.findChild(request.children, keyspace, request.parent);
    health.problem(observed, keyspace) == null;
  local areDone = others('VitessKeyspace', keyspaces) == [] && std.all(std.map(isDone, keyspaces));
  if areDone && !request.finalizing then []
  else [
    workloads.custom('VitessCell', cell.metadata.name, names.labels({ cluster: cell.spec.cluster, cell: cell.spec.cell }), cell.spec)
    for cell in others('VitessCell', cells)
  ];

local stagesOf(request) =
  local cluster = request.parent;
  local name = cluster.metadata.name;
  local namespace = cluster.metadata.namespace;
  local spec = cluster.spec;
  local template = spec.template { images: request.parameters.images + std.get(spec.template, 'images', {}) };
  local topology = { address: etcd.address(names.etcd(name), namespace), root: '/vitess/global' };
  local labels(fields) = names.labels({ cluster: name } + fields);

  local vtctld =
    local all = labels({ component: 'vtctld' });
    [
      workloads.service(names.vtctld(name), all, { web: flags.ports.web, grpc: flags.ports.grpc }),
      workloads.deployment(names.vtctld(name), all, spec.vtctld.replicas, workloads.podSpec({
        containers: [
          workloads.container('vtctld', template, flags.vtctld(topology)) + workloads.web() + workloads.ports(['grpc']),
        ],
      })),
    ];

  local zones = { [cell.name]: std.get(cell, 'zone') for cell in spec.cells };

  local cell(own) = workloads.custom('VitessCell', names.cell(name, own.name), labels({ cell: own.name }), {
    cluster: name,
    cell: own.name,
    cells: [cell.name for cell in spec.cells],
    globalTopology: topology,
    vtgate: own.vtgate,
    template: template,
  } + optional({ zone: zones[own.name], topology: std.get(own, 'topology'), users: std.get(spec, 'users') }));

  local keyspace(own) = workloads.custom('VitessKeyspace', names.keyspace(name, own.name), labels({ keyspace: own.name }), {
    cluster: name,
    keyspace: own.name,
    durabilityPolicy: own.durabilityPolicy,
    shards: own.shards,
    tablets: [pool + optional({ zone: zones[pool.cell] }) for pool in own.tablets],
    topology: topology,
    template: template,
  });

  local cells = std.map(cell, spec.cells);
  local keyspaces = std.map(keyspace, spec.keyspaces);
  [
    {
      name: 'Topology',
      objects: etcd.objects(names.etcd(name), namespace, { cluster: name }, spec.topology, template),
      opens: true,
    },
    { name: 'Vtctld', objects: vtctld, opens: true },
    { name: 'Cells', objects: cells + leaving(request, cells, keyspaces), opens: true },
    // A deletion waits for those too that were taken out of the spec before.
    { name: 'Keyspaces', objects: if request.finalizing then childrenOf(request, 'VitessKeyspace') else keyspaces },
  ];

local statusOf(request) =
  local cells = childrenOf(request, 'VitessCell');
  local keyspaces = childrenOf(request, 'VitessKeyspace');
  {
    cells: std.length(cells),
    readyCells: status.count(cells),
    vtgates: status.sum(cells, 'vtgates'),
    readyVtgates: status.sum(cells, 'readyVtgates'),
    keyspaces: std.length(keyspaces),
    readyKeyspaces: status.count(keyspaces),
    tablets: status.sum(keyspaces, 'tablets'),
    readyTablets: status.sum(keyspaces, 'readyTablets'),
  };

{
  // Rolling updates go in the order of the answer. Keyspaces are listed first, as tablets are updated before vtgates:
  // servers before their clients.
  sync(request)::
    local answer = stages.sync(request, stagesOf(request), statusOf(request));
    local isKeyspace(child) = child.kind == 'VitessKeyspace';
    answer {
      children: std.filter(isKeyspace, answer.children) + std.filter(function(child) !isKeyspace(child), answer.children),
    },

  // Keyspaces go first, then cells, then vtctld. The topology server is last, as those before it take back what they
  // wrote there.
  finalize(request):: stages.finalize(request, stagesOf(request), statusOf(request)),
}
