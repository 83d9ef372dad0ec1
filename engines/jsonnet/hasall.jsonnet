// Whether a value is an object with all of these fields, hidden ones among them.
local type = std.type;
local has = std.objectHasEx;
function(value, names)
  type(value) == 'object' && std.length([n for n in names if !has(value, n, true)]) == 0
