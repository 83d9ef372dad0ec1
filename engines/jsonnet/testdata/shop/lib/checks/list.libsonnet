local check(name, of, ok) = { name: name, of: of, ok: ok };
[
  check('%s-%s' % ['has', what], what, function(app) std.length(std.toString(app[what])) > 2)
  for what in ['deployment', 'configMap', 'nothing']
]
+ [check('%(a)s%(b)s' % parts, 'name', function(app) !std.startsWith(app.name, '-')) for parts in [{ a:: 'na', b: 'me' }]]
