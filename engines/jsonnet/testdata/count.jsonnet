// The language has nothing to count calls with.
function(request) { calls: 1 }
