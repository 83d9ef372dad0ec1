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
    workloads.custom(names.apiVersion, 'VitessShard', names.shard(name, range), labels({ shard: names.range(range) }), {
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

{
  sync(request)::
    local plan = stages.sync(request, stagesOf(request.parent));
    { children: plan.children, status: statusOf(request) + { conditions: plan.conditions } },

  finalize(request)::
    local plan = stages.finalize(request, stagesOf(request.parent));
    { children: plan.children, status: statusOf(request) + { conditions: plan.conditions }, finalized: plan.finalized },
}
