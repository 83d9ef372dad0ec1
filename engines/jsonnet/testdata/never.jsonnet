// A thousand times a thousand times a thousand steps take longer than any test.
function(request)
  local loop(f) = std.foldl(function(sum, i) sum + f(i), std.range(0, 999), 0);
  loop(function(a) loop(function(b) loop(function(c) loop(function(d) a + b + c + d))))
