local base = import 'base.libsonnet';
{
  configMap(name, config):: base.object('v1', 'ConfigMap', name) {
    data: { [k]: if std.isString(config[k]) then config[k] else std.manifestYamlDoc(config[k]) for k in std.objectFields(config) }
          + { banner+: '-- %-10s|%+6.2f|%e' % [name, 3.14159, 12345.678] },
  },
}
