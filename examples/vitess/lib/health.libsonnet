// Whether objects are ready, and why not.

local libretto = import 'libretto';

local stamp = 'vitess.libretto.dev/spec-hash';

local at(object, field, default) = std.get(if object == null then {} else object, field, default);
local status(object) = at(object, 'status', {});

// isObserved reports whether the status is about the present spec.
local isObserved(object) =
  at(status(object), 'observedGeneration', 0) >= at(object.metadata, 'generation', 0);

// replicas compares the numbers of a Deployment or a StatefulSet. A number that is zero is left out of a status.
local replicas(object, names) =
  local wanted = at(object.spec, 'replicas', 1);
  local numbers = [at(status(object), name, 0) for name in names];
  if !isObserved(object) then 'has not been looked at'
  else if std.any([n < wanted for n in numbers]) then 'has %d of %d replicas ready' % [std.minArray(numbers), wanted]
  else if at(status(object), 'replicas', 0) > wanted then 'has replicas to remove'
  else null;

// ready returns the problem that the condition Ready tells of.
local ready(object) =
  local condition = libretto.findCondition(object, 'Ready');
  if condition == null then 'is not ready'
  else if condition.status == 'True' then null
  else at(condition, 'message', 'is not ready');

// finished reports whether a Job has ended, and how.
local finished(job) =
  if libretto.isConditionTrue(job, 'Complete') then 'Complete'
  else if libretto.isConditionTrue(job, 'Failed') then 'Failed'
  else null;

local problems = {
  Pod(pod):: ready(pod),
  Deployment(deployment):: replicas(deployment, ['updatedReplicas', 'readyReplicas', 'availableReplicas']),
  StatefulSet(set):: replicas(set, ['updatedReplicas', 'readyReplicas']),
  Job(job):: if finished(job) == 'Complete' then null else if finished(job) == 'Failed' then 'has failed' else 'has not completed',
  custom(object):: if isObserved(object) then ready(object) else 'has not been looked at',
};

{
  finished:: finished,

  // stamped marks an object with a hash of its spec, by which isCurrent knows the object again.
  stamped(object):: object { metadata+: { annotations+: { [stamp]: libretto.hash(object.spec) } } },

  // isCurrent reports whether an existing object has the spec that is desired.
  isCurrent(observed, desired)::
    local hash(object) = at(at(object.metadata, 'annotations', {}), stamp, '');
    hash(observed) == hash(desired),

  // hasFailed reports whether a Pod will not come back, such as an evicted one.
  hasFailed(object):: object.kind == 'Pod' && at(status(object), 'phase', '') == 'Failed',

  // problem returns why an existing object is not ready, or null. Services, claims and the like are ready when they exist.
  problem(object)::
    if std.objectHas(object.metadata, 'deletionTimestamp') then 'is being deleted'
    else if std.objectHasAll(problems, object.kind) then problems[object.kind](object)
    else if std.startsWith(object.kind, 'Vitess') then problems.custom(object)
    else null,

  isReady(object):: object != null && self.problem(object) == null,
}
