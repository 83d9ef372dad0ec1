// A tree is built in stages and taken down in the opposite order, by the same list. A stage has
//
//   name       a word for conditions: of Topology, the reason is TopologyNotReady
//   objects    what should exist
//   opens      whether the next stage may begin. If it is left out, it may when all objects are ready
//   undo       a Job that has to end before the stage is taken down
//
// What exists stays: a stage that was begun goes on even if one before it is not ready any more. Only an object that has
// failed is left out, to be deleted and made anew.

local health = import 'health.libsonnet';
local libretto = import 'libretto';

local finder(request) = function(object) libretto.findChild(request.children, object, request.parent);

local flatten(stages) = std.flattenArrays([stage.objects for stage in stages]);

local notReady(reason, message) = { type: 'Ready', status: 'False', reason: reason, message: message };

// condition is Ready, or has the first problem.
local condition(problems) =
  local others = std.length(problems) - 1;
  if problems == [] then { type: 'Ready', status: 'True', reason: 'Ready', message: '' }
  else notReady(problems[0].reason, problems[0].message + (if others > 0 then ' (and %d more)' % others else ''));

// pairs are the objects of a stage with what exists of them.
local pairs(find, stage) = [{ desired: object, observed: find(object) } for object in stage.objects];

// problems are those of a stage.
local problems(stage, pairs) = [
  problem { reason: if problem.reason == 'NotReady' then stage.name + 'NotReady' else problem.reason }
  for problem in [health.problem(pair.observed, pair.desired) for pair in pairs]
  if problem != null
];

// isWanted reports whether an object is among the children now.
local isWanted(pair, open) = if pair.observed == null then open else !health.hasFailed(pair.observed);

// events tell of what has failed, and that the parent became ready: the host emits an event that stays in the answer once.
local events(pairs, problems) =
  [
    { type: 'Warning', reason: 'Failed', message: health.nameOf(pair.desired) + ' has failed, and is made anew' }
    for pair in pairs
    if pair.observed != null && health.hasFailed(pair.observed)
  ] + (if problems == [] then [{ reason: 'Ready', message: 'all that is desired exists and is ready' }] else []);

{
  // sync answers with the children that should exist now, and adds the condition Ready to a status.
  sync(request, stages, status)::
    local find = finder(request);
    local add(plan, stage) =
      local all = pairs(find, stage);
      local own = problems(stage, all);
      {
        open: plan.open && std.get(stage, 'opens', own == []),
        children: plan.children + [pair.desired for pair in all if isWanted(pair, plan.open)],
        problems: if plan.problems == [] then own else plan.problems,
        pairs: plan.pairs + all,
      };
    local plan = std.foldl(add, stages, { open: true, children: [], problems: [], pairs: [] });
    {
      children: plan.children,
      status: status { conditions+: [condition(plan.problems)] },
      events: events(plan.pairs, plan.problems),
    },

  // wait answers that nothing can be said yet: the children stay as they are.
  wait(reason, message, status)::
    libretto.waiting(reason, message) + { status: status { conditions+: [notReady(reason, message)] } },

  // finalize answers with the children that should exist still: all but those of the last stage that has any. Before
  // these are deleted, the Job undo of their stage has to end, in whichever way: what can't be undone must not hold up a
  // deletion. The first stage is left to the garbage collector.
  finalize(request, stages, status)::
    local find = finder(request);
    local exists(object) = find(object) != null;
    local some(stages) = [stage for stage in stages if stage.objects != []];
    local left = some([stage { objects: std.filter(exists, stage.objects) } for stage in stages]);
    local count = std.length(left);
    local last = if count == 0 then { objects: [] } else left[count - 1];
    local undo = std.get(last, 'undo');
    local isUndone = undo == null || exists(undo) && health.hasEnded(find(undo));
    local goes = if isUndone then last.objects else [undo];
    local message = 'waits for ' + std.join(', ', std.map(health.nameOf, goes));
    local isFailed = undo != null && isUndone && libretto.isConditionTrue(find(undo), 'Failed');
    {
      children: flatten(if isUndone then left[0:std.max(0, count - 1)] else left + [{ objects: goes }]),
      finalized: count == 0 || isUndone && last.name == some(stages)[0].name,
      status: status { conditions+: [notReady('Deleting', message)] },
      events: if isFailed then [{ type: 'Warning', reason: 'NotUndone', message: health.nameOf(undo) + ' has failed' }] else [],
    },
}
