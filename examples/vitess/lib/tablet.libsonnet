// A tablet: a Pod with vttablet and its mysqld, and the claim for the data of both.

local flags = import 'flags.libsonnet';
local health = import 'health.libsonnet';
local libretto = import 'libretto';
local names = import 'names.libsonnet';
local workloads = import 'workloads.libsonnet';

local data = { name: 'data', mountPath: '/vt/vtdataroot' };
local socket = { name: 'socket', mountPath: '/vt/socket' };

{
  // tablet has all that is known of a tablet by its place: cell, type and index in a shard.
  tablet(shard, place):: {
    local spec = shard.spec,
    cluster: spec.cluster,
    keyspace: spec.keyspace,
    shard: spec.shard,
    cell: place.cell,
    type: place.type,
    index: place.index,
    zone: std.get(place, 'zone'),
    storage: std.get(place, 'storage'),
    name: '%s-%s-%s-%d' % [shard.metadata.name, place.cell, place.type, place.index],
    // Vitess knows tablets by cell and number. The number has to be the same for ever, and another one in each cell.
    uid: std.parseHex(libretto.hash([spec.keyspace, spec.shard, place.cell, place.type, place.index])[0:8]),
    alias: '%s-%010d' % [place.cell, self.uid],
    // The shard's headless Service gives the Pod this name, wherever it runs.
    host: names.host(self.alias + '.' + shard.metadata.name, shard.metadata.namespace),
    socket: socket.mountPath + '/mysqlctl.sock',
    labels: names.labels({
      component: 'vttablet',
      cluster: spec.cluster,
      keyspace: spec.keyspace,
      shard: names.range(spec.shard),
      cell: place.cell,
      'tablet-type': place.type,
      'tablet-index': place.index,
    }),
  },

  // place reads the place back from a Pod.
  place(object):: {
    cell: names.label(object, 'cell'),
    type: names.label(object, 'tablet-type'),
    index: std.parseInt(names.label(object, 'tablet-index')),
    zone: std.get(std.get(object.spec, 'nodeSelector', {}), names.zone),
  },

  // claim is made once and left alone then.
  claim(tablet):: {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: tablet.name, labels: tablet.labels },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: tablet.storage } } },
  },

  pod(shard, tablet)::
    local template = shard.spec.template;
    health.stamped(libretto.pod({
      name: tablet.name,
      labels: tablet.labels,
      podSpec: workloads.podSpec({
        hostname: tablet.alias,
        subdomain: shard.metadata.name,
        terminationGracePeriodSeconds: 360,
        // What restarts always among the init containers is a sidecar: MySQL starts before vttablet and stops after it.
        initContainers: [$.mysqlctld(template, tablet) { restartPolicy: 'Always' }],
        containers: [$.vttablet(template, shard.spec.topology, tablet)] + std.get(template, 'sidecars', []),
        volumes: [
          { name: data.name, persistentVolumeClaim: { claimName: tablet.name } },
          { name: socket.name, emptyDir: {} },
        ],
      }, tablet.zone),
    })),

  vttablet(template, topology, tablet)::
    workloads.container('vttablet', template, flags.vttablet(topology, tablet))
    + workloads.web(ready='/healthz')
    + workloads.ports(['grpc'])
    + {
      volumeMounts: [data, socket],
      // A primary hands over before it stops. For any other tablet this does nothing.
      lifecycle: {
        preStop: {
          exec: {
            command: ['vtctldclient'] + flags.args(flags.vtctldclient(topology)) + [
              'PlannedReparentShard',
              '--avoid-primary=' + tablet.alias,
              '%s/%s' % [tablet.keyspace, tablet.shard],
            ],
          },
        },
      },
    },

  mysqlctld(template, tablet)::
    workloads.container('mysqlctld', template, flags.mysqlctld(tablet))
    + workloads.ports(['mysql'])
    + {
      volumeMounts: [data, socket],
      // vttablet starts as soon as mysqlctld listens, which is when MySQL is up.
      startupProbe: { exec: { command: ['test', '-S', tablet.socket] }, periodSeconds: 2, failureThreshold: 150 },
    },
}
