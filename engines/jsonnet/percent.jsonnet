// What the operator % does: it formats if the left side is a string.
function(format)
  local type = std.type;
  local modulo = std.modulo;
  local slow = std.mod;
  function(a, b)
    local kind = type(a);
    if kind == 'string' then
      format(a, b)
    else if kind == 'number' && type(b) == 'number' then
      modulo(a, b)
    else
      slow(a, b)
