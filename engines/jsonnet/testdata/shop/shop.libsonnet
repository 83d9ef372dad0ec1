local kinds = import 'lib/kinds/all.libsonnet';
local labels = import 'lib/labels.libsonnet';
local names = import 'lib/names.libsonnet';
local checks = import 'lib/checks.libsonnet';
local defaults = import 'defaults.libsonnet';

{
  new(name, spec):: defaults + labels.mixin + checks + {
    local app = self,
    name:: name,
    config+:: std.mergePatch(super.config, std.get(spec, 'config', {})),
    deployment: kinds.deployment(name, spec.replicas, spec.image) + app.withLabels,
    services: {
      [names.port(p)]: kinds.service(names.join([name, names.port(p)]), p) + app.withLabels
      for p in spec.ports
    },
    configMap: kinds.configMap(names.join([name, 'config']), app.config) {
      metadata+: { labels+: { hash: std.md5(std.toString(app.config))[0:8] } },
    },
    ready(children):: std.length(std.filter(function(p) p.status.ready, std.objectValues(children['Pod.v1']))),
    list:: [self.deployment, self.configMap] + std.objectValues(self.services),
  },
}
