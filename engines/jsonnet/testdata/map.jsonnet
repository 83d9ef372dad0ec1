function(request) {
  local input = request.input,
  local data = std.get(input, 'data', {}),
  outputs: [{
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: '%s-%s' % [request.parent.metadata.name, input.metadata.name] },
    data: {
      of: input.metadata.name,
      keys: std.join(' ', std.objectFields(data)),
      characters: '%d' % std.foldl(function(sum, key) sum + std.length(data[key]), std.objectFields(data), 0),
    },
  }],
}
