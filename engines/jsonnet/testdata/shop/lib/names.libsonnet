{
  join(parts):: std.join('-', parts),
  port(p):: '%s%05d' % [if p < 1024 then 'low' else 'high', p],
  short(name, length=8):: if std.length(name) <= length then name else '%s%s' % [name[:length - 2], std.md5(name)[:2]],
  thisFile: std.thisFile,
}
