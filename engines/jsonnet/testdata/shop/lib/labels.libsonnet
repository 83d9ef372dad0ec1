local names = import 'names.libsonnet';
{
  mixin:: {
    local app = self,
    labels:: { app: names.short(app.name), 'managed-by': 'shop' },
    withLabels:: { local me = self, metadata+: { labels+: app.labels { kind: std.asciiLower(me.kind) } } },
  },
}
