// A topology server: etcd in a StatefulSet, with a Service for clients and one for the members.

local flags = import 'flags.libsonnet';
local health = import 'health.libsonnet';
local names = import 'names.libsonnet';
local workloads = import 'workloads.libsonnet';

local ports = { client: 2379, peer: 2380 };

{
  address(name, namespace):: '%s:%d' % [names.host(name, namespace), ports.client],

  // hasQuorum reports whether enough members are ready to read and write.
  hasQuorum(set):: set != null && std.get(std.get(set, 'status', {}), 'readyReplicas', 0) > std.get(set.spec, 'replicas', 1) / 2,

  // objects are those of a topology server. Its labels have its name, as a cluster may have several.
  objects(name, namespace, fields, topology, template, zone=null)::
    local labels = names.labels(fields { component: 'etcd', etcd: name });
    local members = ['%s-%d' % [name, i] for i in std.range(0, topology.replicas - 1)];
    local host(member) = names.host(member + '.' + name + '-peers', namespace);
    local flagsOf = flags.etcd({
      name: '$(POD_NAME)',
      host: host('$(POD_NAME)'),
      peers: [{ name: member, host: host(member) } for member in members],
      token: name,
    });
    local ready = { httpGet: { path: '/health', port: 'client' } };
    [
      workloads.service(name, labels, { client: ports.client }),
      // Members have to find each other before they are ready.
      workloads.service(name + '-peers', labels, ports, { clusterIP: 'None', publishNotReadyAddresses: true }),
      health.stamped({
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: name, labels: labels },
        spec: {
          replicas: topology.replicas,
          serviceName: name + '-peers',
          podManagementPolicy: 'Parallel',
          persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
          selector: { matchLabels: labels },
          template: {
            metadata: { labels: labels },
            spec: {
              securityContext: workloads.securityContext,
              containers: [workloads.container('etcd', template, flagsOf) {
                env: [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
                ports: [{ name: port, containerPort: ports[port] } for port in std.objectFields(ports)],
                readinessProbe: ready,
                volumeMounts: [{ name: 'data', mountPath: '/var/lib/etcd' }],
              }],
            } + workloads.inZone(zone),
          },
          volumeClaimTemplates: [{
            metadata: { name: 'data' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: topology.storage } } },
          }],
        },
      }),
    ],
}
