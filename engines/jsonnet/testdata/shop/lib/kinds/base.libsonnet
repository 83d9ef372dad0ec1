{
  object(apiVersion, kind, name):: {
    apiVersion: apiVersion,
    kind: kind,
    metadata: { name: name, annotations: { 'shop/made-by': '%s in %s' % [kind, std.thisFile] } },
    isA(kind):: self.kind == kind,
  },
}
