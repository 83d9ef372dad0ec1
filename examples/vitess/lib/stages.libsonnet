// A tree is built in stages and taken down in the opposite order, by the same list. A stage has
//
//   name       a word for conditions: of Topology, the reason is TopologyNotReady
//   objects    what should exist
//   opens      whether the next stage may begin; not if it is left out, as long as an object is not ready
//   undo       a Job that has to end before the stage is taken down
//
// What exists stays: a stage that was begun goes on even if one before it is not ready any more. Only an object that has
// failed is left out, to be deleted and made anew.

local health = import 'health.libsonnet';
local libretto = import 'libretto';

local name(object) = '%s %s' % [object.kind, object.metadata.name];

local finder(request) = function(object)
  local group = std.get(request.children, libretto.groupKey(object.apiVersion, object.kind), {});
  std.get(group, libretto.childKey(object, request.parent));

// problem returns the reason and the message of an object that is not as it should be, or null.
local problem(stage, observed, object) =
  local cause = if observed == null then 'does not exist yet' else health.problem(observed);
  if observed != null && !health.isCurrent(observed, object)
  then { reason: 'Updating', message: name(object) + ' is to be updated' }
  else if cause != null
  then { reason: stage.name + 'NotReady', message: '%s: %s' % [name(object), cause] };

// problems are those of a stage.
local problems(find, stage) =
  std.prune([problem(stage, find(object), object) for object in stage.objects]);

// isWanted reports whether an object is among the children.
local isWanted(observed, open) = if observed == null then open else !health.hasFailed(observed);

// condition is Ready, or says what the first stage that is not ready waits for.
local condition(problems) =
  local count = std.length(problems);
  if count == 0 then { type: 'Ready', status: 'True', reason: 'Ready', message: '' }
  else {
    type: 'Ready',
    status: 'False',
    reason: problems[0].reason,
    message: problems[0].message + (if count > 1 then ' (and %d more)' % (count - 1) else ''),
  };

local flatten(stages) = std.flattenArrays([stage.objects for stage in stages]);

{
  // sync returns the children that should exist now, and the condition Ready.
  sync(request, stages)::
    local find = finder(request);
    local plan = std.foldl(
      function(plan, stage)
        local own = problems(find, stage);
        {
          open: plan.open && std.get(stage, 'opens', own == []),
          stages: plan.stages + [
            stage { objects: [object for object in stage.objects if isWanted(find(object), plan.open)] },
          ],
          problems: if plan.problems == [] then own else plan.problems,
        },
      stages,
      { open: true, stages: [], problems: [] },
    );
    { children: flatten(plan.stages), conditions: [condition(plan.problems)] },

  // finalize returns the children that should still exist: all but those of the last stage that has any. Before these are
  // deleted, the Job undo of their stage has to end, in whichever way: what can't be undone must not hold up a deletion.
  // The first stage is left to the garbage collector.
  finalize(request, stages)::
    local find = finder(request);
    local left = [
      stage
      for stage in [s { objects: [o for o in s.objects if find(o) != null] } for s in stages]
      if stage.objects != []
    ];
    local count = std.length(left);
    local last = if count == 0 then { objects: [] } else left[count - 1];
    local undo = std.get(last, 'undo');
    local isUndone = undo == null || find(undo) != null && health.finished(find(undo)) != null;
    local waitsFor = if isUndone then last.objects else [undo];
    {
      children: flatten(if isUndone then left[0:std.max(0, count - 1)] else left + [{ objects: [undo] }]),
      finalized: count <= 1 && isUndone,
      conditions: [{
        type: 'Ready',
        status: 'False',
        reason: 'Deleting',
        message: 'waiting for ' + std.join(', ', std.map(name, waitsFor)),
      }],
    },
}
