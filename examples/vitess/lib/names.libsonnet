// Names and labels. Everything of a cluster is in its namespace, and its name begins with that of the cluster.

local libretto = import 'libretto';

local recommended = libretto.recommendedLabels({ name: 'vitess', managedBy: 'libretto' });

{
  group:: 'vitess.libretto.dev',
  apiVersion:: self.group + '/v1alpha1',

  etcd(cluster):: cluster + '-etcd',
  vtctld(cluster):: cluster + '-vtctld',
  cell(cluster, cell):: '%s-%s' % [cluster, cell],
  keyspace(cluster, keyspace):: '%s-%s' % [cluster, keyspace],

  // A key range in a form that names and labels allow: -80 is x-80, 80- is 80-x, and - (all of it) is x-x.
  range(shard):: (if std.startsWith(shard, '-') then 'x' else '') + shard + (if std.endsWith(shard, '-') then 'x' else ''),
  shard(keyspace, shard):: '%s-%s' % [keyspace, $.range(shard)],

  // The address of a Service for the Pods of any namespace.
  host(service, namespace):: '%s.%s.svc' % [service, namespace],

  // The label of nodes by which cells are placed.
  zone:: 'topology.kubernetes.io/zone',

  // labels are those of this operator, such as {cell: 'zone1', component: 'vtgate'}, and those that Kubernetes recommends.
  labels(fields):: recommended + { [$.group + '/' + name]: std.toString(fields[name]) for name in std.objectFields(fields) },

  // label reads one of them from an object.
  label(object, name):: object.metadata.labels[$.group + '/' + name],
}
