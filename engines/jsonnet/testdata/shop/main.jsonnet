// A program of many files, with all that libraries do: its answer is compared with go-jsonnet's own.
local shop = import 'shop.libsonnet';
local util = import 'lib/names.libsonnet';

function(request, debug=false)
  local parent = request.parent;
  local app = shop.new(parent.metadata.name, parent.spec) {
    local before = super.config,
    config+:: { region: '%(zone)s-%(n)02d' % (before { n:: 7 }) },
    deployment+: { metadata+: { annotations+: { 'shop/hash': std.md5(std.manifestJsonMinified($.config)) } } },
  };
  {
    status: {
      summary: '%s: %d of %d (%.1f%%)' % [parent.metadata.name, app.ready(request.children), parent.spec.replicas, 100 * app.ready(request.children) / parent.spec.replicas],
      names: std.sort([c.metadata.name for c in app.list], function(n) -std.length(n)),
      checks: app.checks,
      thisFile: std.thisFile,
      libraries: util.thisFile,
    },
    children: [std.prune(c) for c in app.list],
    [if debug then 'debug']: app.config,
  }
