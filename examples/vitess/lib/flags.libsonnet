// The flags of Vitess 24, in one place. Each function returns an object: a field for each flag, without dashes before it.
// What users add (spec.template.flags) is merged over it.

{
  // The ports of every component. Each has a Pod of its own, so they need not differ.
  ports:: { web: 15000, grpc: 15999, mysql: 3306 },

  // args renders flags for a command line.
  args(flags):: ['--' + name + '=' + flags[name] for name in std.objectFields(flags)],

  // topology is that of all components: how to reach the global topology server.
  topology(topology):: {
    'topo-implementation': 'etcd2',
    'topo-global-server-address': topology.address,
    'topo-global-root': topology.root,
  },

  vtctld(topology):: $.topology(topology) + {
    port: $.ports.web,
    'grpc-port': $.ports.grpc,
    'service-map': 'grpc-vtctl,grpc-vtctld',
  },

  // The primary of a shard may be in any cell, so a vtgate watches all of them.
  vtgate(topology, cell, cells, users=null):: $.topology(topology) + {
    cell: cell,
    'cells-to-watch': std.join(',', cells),
    'tablet-types-to-wait': 'PRIMARY,REPLICA',
    port: $.ports.web,
    'grpc-port': $.ports.grpc,
    'mysql-server-port': $.ports.mysql,
    'service-map': 'grpc-vtgateservice',
    'enable-buffer': true, // queries wait while a shard elects a primary
  } + (if users == null then { 'mysql-auth-server-impl': 'none' } else {
         'mysql-auth-server-impl': 'static',
         'mysql-auth-server-static-file': users,
       }),

  vttablet(topology, tablet):: $.topology(topology) + {
    'tablet-path': tablet.alias,
    'tablet-hostname': tablet.host,
    'init-keyspace': tablet.keyspace,
    'init-shard': tablet.shard,
    'init-tablet-type': tablet.type,
    port: $.ports.web,
    'grpc-port': $.ports.grpc,
    'service-map': 'grpc-queryservice,grpc-tabletmanager,grpc-updatestream',
    'mysqlctl-socket': tablet.socket,
    'health-check-interval': '5s',
  },

  mysqlctld(tablet):: {
    'tablet-uid': tablet.uid,
    'mysql-port': $.ports.mysql,
    'socket-file': tablet.socket,
    'init-db-sql-file': '/vt/config/init_db.sql',
  },

  vtorc(topology, cell, keyspace, shard):: $.topology(topology) + {
    cell: cell,
    'clusters-to-watch': '%s/%s' % [keyspace, shard],
    port: $.ports.web,
  },

  // vtctldclient works on the topology server itself, without a vtctld between.
  vtctldclient(topology):: $.topology(topology) + { server: 'internal', 'action-timeout': '30s' },

  // The flags of a member of an etcd that consists of peers, each with name and host.
  etcd(member, peers, token):: {
    name: member.name,
    'data-dir': '/var/lib/etcd/data',
    'listen-client-urls': 'http://0.0.0.0:2379',
    'advertise-client-urls': 'http://%s:2379' % member.host,
    'listen-peer-urls': 'http://0.0.0.0:2380',
    'initial-advertise-peer-urls': 'http://%s:2380' % member.host,
    'initial-cluster': std.join(',', ['%s=http://%s:2380' % [peer.name, peer.host] for peer in peers]),
    'initial-cluster-token': token,
    'initial-cluster-state': 'new',
    'auto-compaction-retention': '8h',
  },
}
