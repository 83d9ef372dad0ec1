// Whether objects are as they should be, and what is missing.

local libretto = import 'libretto';

local stamp = 'vitess.libretto.dev/spec-hash';

local hash(object) = std.get(std.get(object.metadata, 'annotations', {}), stamp);

local nameOf(object) = object.kind + ' ' + object.metadata.name;

// Objects of this operator say themselves what they wait for, but only of the spec that they have seen.
local ownProblem(object) =
  local condition = libretto.findCondition(object, 'Ready');
  local isSeen = condition != null && std.get(object.status, 'observedGeneration') == object.metadata.generation;
  if !isSeen then nameOf(object) + ' has not been looked at'
  else if condition.status != 'True' then '%s: %s' % [nameOf(object), condition.message];

{
  // nameOf is how messages call an object.
  nameOf:: nameOf,

  // stamped marks an object with a hash of its spec, by which it is known again. The spec itself can't be compared, as
  // the API server fills it in.
  stamped(object)::
    local spec = object.spec;  // computed once
    object { spec: spec, metadata+: { annotations+: { [stamp]: libretto.hash(spec) } } },

  // problem returns why an object is not as desired, as reason and message, or null. Observed is null if it does not exist.
  problem(observed, desired)::
    if observed != null && hash(observed) != hash(desired)
    then { reason: 'Updating', message: nameOf(desired) + ' is to be updated' }
    else
      local isOwn = observed != null && std.startsWith(desired.kind, 'Vitess');
      local needs = libretto.needs(observed, nameOf(desired));
      local message = if isOwn then ownProblem(observed) else if needs != null then needs.waiting.message;
      if message != null then { reason: 'NotReady', message: message },

  // isReady reports whether an object is ready, whatever its spec.
  isReady(object):: self.problem(object, object) == null,

  // hasFailed reports whether a Pod will not come back, such as an evicted one, or a Job has given up.
  hasFailed(object)::
    object.kind == 'Pod' && std.get(std.get(object, 'status', {}), 'phase') == 'Failed'
    || object.kind == 'Job' && libretto.isConditionTrue(object, 'Failed'),

  // hasEnded reports whether a Job will do no more.
  hasEnded(job):: libretto.isConditionTrue(job, 'Complete') || libretto.isConditionTrue(job, 'Failed'),
}
