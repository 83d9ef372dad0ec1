local base = import '../kinds/base.libsonnet';
{
  service(name, port):: base.object('v1', 'Service', name) + {
    spec: { ports: [{ port: port, name: 'p%x' % port, targetPort: std.format('%s', port) }], selector: {} },
    metadata+: { annotations+: { 'shop/url': 'http://%(name)s:%(port)d/' % { name: name, port: port } } },
  },
}
