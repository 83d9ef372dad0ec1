function(request) {
  labels: request.labels { a: 'changed' },
  list: std.sort(request.list),
}
