local base = import './base.libsonnet';
local units = import '../units.libsonnet';
{
  deployment(name, replicas, image):: base.object('apps/v1', 'Deployment', name) {
    spec: {
      replicas: replicas,
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: name, image: image, resources: { requests: { memory: units.mi(64 * replicas), cpu: '%dm' % (100 * replicas) } } }] },
      },
      strategy: null,
    },
    metadata+: { annotations+: { 'shop/version': std.splitLimitR(image, ':', 1)[1] } },
  },
}
