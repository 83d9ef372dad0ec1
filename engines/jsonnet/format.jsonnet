// What std.format does, by native functions. They are given values, so that they are
// asked only when std.format, too, would look at all of them: it is lazy. What they
// do not know they leave to std.format, and so is every error.
local type = std.type;
local length = std.length;
local has = std.objectHasEx;
local slow = std.format;
local count = std.native('$formatCount');
local keys = std.native('$formatKeys');
local values = std.native('$formatValues');

local fast(str, list, vals) =
  local text = values(str, list);
  if text == null then slow(str, vals) else text;

local object(str, vals) =
  local names = keys(str);
  if names == null || std.length([n for n in names if !has(vals, n, true)]) > 0 then
    slow(str, vals)
  else
    fast(str, [vals[n] for n in names], vals);

function(str, vals)
  local kind = type(vals);
  if type(str) != 'string' || kind == 'function' then
    slow(str, vals)
  else if kind == 'object' then
    object(str, vals)
  else if kind != 'array' then
    if count(str) == 1 then fast(str, [vals], vals) else slow(str, vals)
  else if count(str) == length(vals) then
    fast(str, vals, vals)
  else
    slow(str, vals)
