// A hook as it was written for metacontroller's jsonnetd, which needs no change here.
local process = std.native('jsonUnmarshal');
local parseInt = std.native('parseInt');

function(request) {
  local parent = request.parent,
  local config = process(parent.metadata.annotations.config),
  local observed = [p for p in std.objectValues(request.children['Pod.v1'])],
  status: { observed: std.length(observed), mode: parseInt(config.mode, 8) },
  children: [
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: parent.metadata.name + '-' + index },
      spec: config.spec,
    }
    for index in std.range(0, config.replicas - 1)
  ],
}
