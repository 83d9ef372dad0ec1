// This function is called for each Namespace that {{.Article}} {{.Kind}} selects, whenever one of the two, or an output, has changed.
// It answers with all outputs of that Namespace. The host creates, updates and deletes.
function(request) {
  local parent = request.parent,
  local input = request.input,

  outputs: [{
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { namespace: input.metadata.name, name: parent.metadata.name },
    spec: { hard: { pods: std.toString(parent.spec.pods) } },
  }],
}
