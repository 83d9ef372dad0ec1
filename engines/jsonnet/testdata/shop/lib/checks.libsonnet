{
  local app = self,
  assert std.length(app.name) > 0 : 'an app needs a name',
  checks:: {
    [check.name]: check.ok(app)
    for check in import 'checks/list.libsonnet'
    if std.objectHasAll(app, check.of)
  },
}
