function(request) {
  a: ]
}
