function(request) {
  local left = std.flatMap(std.objectValues, std.objectValues(request.attachments)),
  attachments: [],
  finalized: std.length(left) == 0,
  resyncAfterSeconds: 2.5,
}
