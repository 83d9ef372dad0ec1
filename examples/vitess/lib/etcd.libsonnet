// A topology server: etcd in a StatefulSet, with a Service for clients and one for the members.

local flags = import 'flags.libsonnet';
local health = import 'health.libsonnet';
local libretto = import 'libretto';
local names = import 'names.libsonnet';
local workloads = import 'workloads.libsonnet';

local ports = { client: 2379, peer: 2380 };

{
  address(name, namespace):: '%s:%d' % [names.host(name, namespace), ports.client],

  // hasQuorum reports whether enough members are ready to read and write.
  hasQuorum(set):: set != null && std.get(std.get(set, 'status', {}), 'readyReplicas', 0) > set.spec.replicas / 2,

  // objects are those of a topology server. Its labels have its name, as a cluster may have several.
  objects(name, namespace, fields, topology, template, zone=null)::
    local labels = names.labels(fields { component: 'etcd', etcd: name });
    local peers = name + '-peers';
    local member(pod) = { name: pod, host: names.host(pod + '.' + peers, namespace) };
    local given = flags.etcd(
      member('$(POD_NAME)'),
      [member('%s-%d' % [name, i]) for i in std.range(0, topology.replicas - 1)],
      name,
    );
    local container = workloads.container('etcd', template, given) {
      env: { POD_NAME: { fieldRef: { fieldPath: 'metadata.name' } } },
      ports: [{ name: port, containerPort: ports[port] } for port in std.objectFields(ports)],
      readinessProbe: { httpGet: { path: '/health', port: 'client' } },
      volumeMounts: [{ name: 'data', mountPath: '/var/lib/etcd' }],
    };
    [
      workloads.service(name, labels, { client: ports.client }),
      // Members have to find each other before they are ready.
      workloads.service(peers, labels, ports, { clusterIP: 'None', publishNotReadyAddresses: true }),
      health.stamped(libretto.statefulSet({
        name: name,
        labels: labels,
        selector: labels,
        replicas: topology.replicas,
        serviceName: peers,
        podSpec: workloads.podSpec({ containers: [container] }, zone),
        spec: {
          podManagementPolicy: 'Parallel',
          persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
          volumeClaimTemplates: [{
            apiVersion: 'v1',
            kind: 'PersistentVolumeClaim',
            metadata: { name: 'data' },
            spec: {
              accessModes: ['ReadWriteOnce'],
              volumeMode: 'Filesystem',
              resources: { requests: { storage: topology.storage } },
            },
          }],
        },
      })),
    ],
}
