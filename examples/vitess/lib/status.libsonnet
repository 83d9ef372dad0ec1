// What the status of one level says about the level below it.

local health = import 'health.libsonnet';

{
  // count returns how many of the objects are ready.
  count(objects):: std.length([object for object in objects if health.isReady(object)]),

  // sum adds up a number of the statuses of objects. Zero is what an object says that has no status yet.
  sum(objects, field):: std.sum([std.get(std.get(object, 'status', {}), field, 0) for object in objects]),
}
