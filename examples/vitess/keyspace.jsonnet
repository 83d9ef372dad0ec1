// VitessKeyspace: its record in the topology server, and an object for each shard.

local job = import 'lib/job.libsonnet';
local libretto = import 'libretto';
local names = import 'lib/names.libsonnet';
local stages = import 'lib/stages.libsonnet';
local status = import 'lib/status.libsonnet';
local workloads = import 'lib/workloads.libsonnet';

local stagesOf(keyspace) =
  local spec = keyspace.spec;
  local name = keyspace.metadata.name;
  local labels(fields) = names.labels({ cluster: spec.cluster, keyspace: spec.keyspace } + fields);

  local shard(range) =
    workloads.custom('VitessShard', names.shard(name, range), labels({ shard: names.range(range) }), {
      cluster: spec.cluster,
      keyspace: spec.keyspace,
      shard: range,
      tablets: spec.tablets,
      topology: spec.topology,
      template: spec.template,
    });

  [
    {
      name: 'Registration',
      objects: [job.job(name + '-register', labels({ component: 'job' }), spec.topology, spec.template, [
        ['CreateKeyspace', '--force', spec.keyspace],
        ['SetKeyspaceDurabilityPolicy', '--durability-policy=' + spec.durabilityPolicy, spec.keyspace],
      ])],
      undo: job.undo(name + '-unregister', labels({ component: 'job' }), spec.topology, spec.template, [
        ['DeleteKeyspace', '--recursive', spec.keyspace],
      ]),
    },
    { name: 'Shards', objects: std.map(shard, spec.shards) },
  ];

local statusOf(request) =
  local shards = libretto.objectsOf(request.children, names.apiVersion, 'VitessShard');
  {
    shards: std.length(shards),
    readyShards: status.count(shards),
    tablets: status.sum(shards, 'tablets'),
    readyTablets: status.sum(shards, 'readyTablets'),
  };

// cells are the names of the objects of the cells that have tablets.
local cells(keyspace) = std.set([names.cell(keyspace.spec.cluster, pool.cell) for pool in keyspace.spec.tablets]);

// unregistered are those that are not in the topology server yet.
local unregistered(request) = [
  name
  for name in cells(request.parent)
  for cell in [std.get(request.related['VitessCell.' + names.apiVersion], request.parent.metadata.namespace + '/' + name)]
  if cell == null || !libretto.isConditionTrue(cell, 'Registered')
];

{
  customize(request):: {
    local keyspace = request.parent,
    relatedResources: [{
      apiVersion: names.apiVersion,
      resource: 'vitesscells',
      namespace: keyspace.metadata.namespace,
      names: cells(keyspace),
    }],
  },

  sync(request)::
    local missing = unregistered(request);
    if missing == []
    then stages.sync(request, stagesOf(request.parent), statusOf(request))
    else stages.wait('CellsNotRegistered', 'not in the topology server: ' + std.join(', ', missing), statusOf(request)),

  finalize(request):: stages.finalize(request, stagesOf(request.parent), statusOf(request)),
}
