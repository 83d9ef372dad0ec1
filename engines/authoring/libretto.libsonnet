// The module "libretto" for Jsonnet. libretto.js has the same functions for JavaScript,
// and module.d.ts says what they are for.

// The field of an object, or the default if there is no object or no field, or if it is null.
local at(object, field, default=null) =
  local value = if std.isObject(object) then std.get(object, field);
  if value == null then default else value;

local first(list) = if std.length(list) == 0 then null else list[0];

{
  groupKey(apiVersion, kind):: kind + '.' + apiVersion,

  childKey(child, parent=null, version='v2')::
    assert version == 'v1' || version == 'v2' : 'childKey: version ' + std.manifestJsonMinified(version) + ' is neither "v1" nor "v2"';
    local name = child.metadata.name;
    local of = at(at(parent, 'metadata'), 'namespace', '');
    local own = at(child.metadata, 'namespace', '');
    local namespace = if own == '' then of else own;
    if namespace == '' || version == 'v1' && of != '' then name else namespace + '/' + name,

  objectsOf(groups, apiVersion, kind)::
    local wanted = self.groupKey(apiVersion, kind);
    if std.objectHas(groups, wanted)
    then std.objectValues(groups[wanted])
    else error 'objectsOf: there is no group ' + wanted + ', only [' + std.join(', ', std.objectFields(groups)) + ']',

  ownerName(object)::
    at(first([r for r in at(object.metadata, 'ownerReferences', []) if at(r, 'controller') == true]), 'name'),

  findCondition(object, type)::
    first([c for c in at(at(object, 'status'), 'conditions', []) if at(c, 'type') == type]),

  isConditionTrue(object, type):: at(self.findCondition(object, type), 'status') == 'True',

  setCondition(conditions, condition, now=null)::
    local list = if conditions == null then [] else conditions;
    local old = first([c for c in list if c.type == condition.type]);
    local kept = if at(old, 'status') == condition.status then at(old, 'lastTransitionTime', '') else '';
    local time = if kept == '' then now else kept;
    local changed = {
      [field]: condition[field]
      for field in std.objectFields(condition)
      if field != 'lastTransitionTime'
    } + (if time == null || time == '' then {} else { lastTransitionTime: time });
    if old == null
    then list + [changed]
    else [if c.type == condition.type then changed else c for c in list],

  matchesLabels(selector, labels)::
    local has(key) = std.isObject(labels) && std.objectHas(labels, key);
    local holds(e) =
      local operator = at(e, 'operator');
      local among = std.member(at(e, 'values', []), at(labels, e.key));
      if operator == 'In' then has(e.key) && among
      else if operator == 'NotIn' then !(has(e.key) && among)
      else if operator == 'Exists' then has(e.key)
      else if operator == 'DoesNotExist' then !has(e.key)
      else error 'matchesLabels: operator ' + std.manifestJsonMinified(operator) + ' is none of In, NotIn, Exists and DoesNotExist';
    local given = at(selector, 'matchLabels', {});
    selector != null
    && std.all([has(key) && labels[key] == given[key] for key in std.objectFields(given)])
    && std.all([holds(e) for e in at(selector, 'matchExpressions', [])]),

  ordinalOf(name, base)::
    local digits = if std.startsWith(name, base + '-') then std.substr(name, std.length(base) + 1, std.length(name)) else '';
    local isNumber = std.all([c >= '0' && c <= '9' for c in std.stringChars(digits)]);
    if digits == '0' then 0
    else if digits == '' || digits[0] == '0' || std.length(digits) > 10 || !isNumber then null
    else std.parseInt(digits),

  hash(value):: std.substr(std.sha256(std.manifestJsonMinified(value)), 0, 16),
}
