// VitessShard: the tablets, each a Pod and a claim, the Service by which they find each other, and the vtorc
// that elects a primary and repairs replication.

local flags = import 'lib/flags.libsonnet';
local libretto = import 'libretto';
local names = import 'lib/names.libsonnet';
local stages = import 'lib/stages.libsonnet';
local status = import 'lib/status.libsonnet';
local tablets = import 'lib/tablet.libsonnet';
local workloads = import 'lib/workloads.libsonnet';

local podsOf(request) = libretto.objectsOf(request.children, 'v1', 'Pod');

// wanted are the tablets of the spec.
local wanted(shard) = [
  tablets.tablet(shard, pool { index: index })
  for pool in shard.spec.tablets
  for index in std.range(0, pool.replicas - 1)
];

// surplus are the tablets that exist beyond these.
local surplus(request) =
  local names = std.set([tablet.name for tablet in wanted(request.parent)]);
  local all = [
    tablets.tablet(request.parent, tablets.place(pod))
    for pod in podsOf(request)
    if !std.setMember(pod.metadata.name, names)
  ];
  std.sort(all, function(tablet) [tablet.index, tablet.cell, tablet.type]);

// withoutLast drops the tablet that goes next. The others wait until it is gone, so that a shard never loses two at once.
local withoutLast(tablets) = tablets[0:std.max(0, std.length(tablets) - 1)];

// otherClaims keeps the claims of tablets that are gone: data outlives a scale-down. As claims are not updated, their
// name and labels are enough.
local otherClaims(request) =
  local names = std.set([tablet.name for tablet in wanted(request.parent)]);
  [
    { apiVersion: claim.apiVersion, kind: claim.kind, metadata: { name: claim.metadata.name, labels: claim.metadata.labels } }
    for claim in libretto.objectsOf(request.children, 'v1', 'PersistentVolumeClaim')
    if !std.setMember(claim.metadata.name, names)
  ];

local vtorc(shard) =
  local spec = shard.spec;
  local labels = names.labels({ component: 'vtorc', cluster: spec.cluster, keyspace: spec.keyspace, shard: names.range(spec.shard) });
  local cell = spec.tablets[0].cell;
  local hasTablets = std.any([pool.replicas > 0 for pool in spec.tablets]);
  workloads.deployment(shard.metadata.name + '-vtorc', labels, if hasTablets then 1 else 0, workloads.podSpec({
    containers: [
      workloads.container('vtorc', spec.template, flags.vtorc(spec.topology, cell, spec.keyspace, spec.shard)) + workloads.web(),
    ],
  }));

local stagesOf(request, others) =
  local shard = request.parent;
  local spec = shard.spec;
  local own = wanted(shard);
  local selector = names.labels({
    component: 'vttablet',
    cluster: spec.cluster,
    keyspace: spec.keyspace,
    shard: names.range(spec.shard),
  });
  [
    {
      name: 'Claims',
      objects: [
        // vtorc talks to tablets that are not ready.
        workloads.service(shard.metadata.name, selector, flags.ports, { clusterIP: 'None', publishNotReadyAddresses: true }),
      ] + std.map(tablets.claim, own),
      opens: true,  // a claim may be bound only when there is a Pod for it
    },
    {
      name: 'Tablets',
      objects: [tablets.pod(shard, tablet) for tablet in own + others],
      opens: true,  // tablets become ready when vtorc has elected a primary
    },
    { name: 'Vtorc', objects: [vtorc(shard)] },
  ];

local statusOf(request) = {
  local pods = podsOf(request),
  tablets: std.length(pods),
  readyTablets: status.count(pods),
};

{
  sync(request)::
    local others = withoutLast(surplus(request));
    stages.sync(request, stagesOf(request, others), statusOf(request)) + { children+: otherClaims(request) },

  // vtorc goes before the tablets: it would take their end for a failure, and elect another primary.
  finalize(request):: stages.finalize(request, stagesOf(request, surplus(request)), statusOf(request)),
}
