// PreviewSet: an environment for each entry of a list. An entry that is taken off the list is not in the answer any more, and so
// its objects are deleted.
local libretto = import 'libretto';
local preview = import 'preview.libsonnet';

function(request)
  local set = request.parent;
  local all = set.spec.previews;
  local running = all[:set.spec.limit];
  local queued = all[std.length(running):];

  local isReady(p) =
    local key = set.metadata.namespace + '/' + preview.name(set, p);
    libretto.isConditionTrue(std.get(request.children['Deployment.apps/v1'], key, {}), 'Available');
  local ready = std.filter(isReady, running);
  local waiting = std.filter(function(p) !isReady(p), running);

  {
    status: {
      total: std.length(all),
      ready: std.length(ready),
      queued: std.length(queued),
      previews: [
        { name: p.name, state: if isReady(p) then 'Ready' else 'Starting', url: 'http://%s/' % preview.host(set, p) }
        for p in running
      ] + [{ name: p.name, state: 'Queued' } for p in queued],
      conditions: [
        { type: 'Ready' } +
        if waiting != [] then { status: 'False', reason: 'Starting', message: 'waits for %s' % std.join(', ', [p.name for p in waiting]) }
        else if queued != [] then {
          status: 'True',
          reason: 'LimitReached',
          message: '%d are ready; %d are queued, as spec.limit is %d' % [std.length(ready), std.length(queued), set.spec.limit],
        }
        else { status: 'True', reason: 'AllReady', message: '%d are ready' % std.length(ready) },
      ],
    },
    children: std.flatMap(function(p) preview.objects(set, p), running),
  }
