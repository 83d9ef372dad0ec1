// The module "libretto" for Jsonnet. libretto.js has the same functions for JavaScript,
// and module.d.ts says what they are for.

// The field of an object, or the default if there is no object or no field, or if it is null.
local at(object, field, default=null) =
  local value = if std.isObject(object) then std.get(object, field);
  if value == null then default else value;

local first(list) = if std.length(list) == 0 then null else list[0];

local lend(name, args) = std.native('$libretto')(name, args);

// What a function says of an argument.
local wrong(caller, parameter, value, want) =
  error caller + ': ' + parameter + ' is ' + lend('show', [if std.isFunction(value) then 'a function' else value]) + ', want ' + want;
local noGroup(caller, groups, wanted) =
  error caller + ': there is no group ' + wanted + ', only [' + std.join(', ', std.objectFields(groups)) + ']';
local checkOptions(caller, options, known) =
  local odd = if std.isObject(options) then std.filter(function(option) !std.member(known, option), std.objectFields(options));
  if odd == null then wrong(caller, 'options', options, 'an object with ' + std.join(', ', known))
  else if std.length(odd) > 0 then error caller + ': there is no option ' + odd[0] + ', only [' + std.join(', ', std.sort(known)) + ']'
  else options;
local text(caller, parameter, value) = if std.isString(value) && value != '' then value else wrong(caller, parameter, value, 'a string');
local list(caller, parameter, value) =
  if value == null then [] else if std.isArray(value) then value else wrong(caller, parameter, value, 'a list');
local object(caller, parameter, value) =
  if value == null then {} else if std.isObject(value) then value else wrong(caller, parameter, value, 'an object');

// A map of strings, such as labels.
local texts(caller, parameter, value) =
  local given = object(caller, parameter, value);
  local odd = std.filter(function(key) !std.isString(given[key]), std.objectFields(given));
  if odd == [] then given else wrong(caller, parameter + '[' + std.manifestJsonMinified(odd[0]) + ']', given[odd[0]], 'a string');

// The fields that have a value.
local given(fields) = { [if fields[name] != null then name]: fields[name] for name in std.objectFields(fields) };

local groupKey(apiVersion, kind) = kind + '.' + apiVersion;

local childKey(child, parent, version) =
  local name = child.metadata.name;
  local of = at(at(parent, 'metadata'), 'namespace', '');
  local own = at(child.metadata, 'namespace', '');
  local namespace = if own == '' then of else own;
  if namespace == '' || version == 'v1' && of != '' then name else namespace + '/' + name;

local ordinalOf(name, base) =
  local digits = if std.startsWith(name, base + '-') then std.substr(name, std.length(base) + 1, std.length(name)) else '';
  local isNumber = std.all([c >= '0' && c <= '9' for c in std.stringChars(digits)]);
  if digits == '0' then 0
  else if digits == '' || digits[0] == '0' || std.length(digits) > 10 || !isNumber then null
  else std.parseInt(digits);

local childName(base, suffix=null, maxLength=null) = lend('childName', [base, suffix, maxLength]);

local merge(base, over) = base + {
  [key]: if std.isObject(over[key]) && std.isObject(at(base, key)) then merge(base[key], over[key]) else over[key]
  for key in std.objectFields(over)
};

// The object with the parts that say whether it is ready: all that the host looks at.
local readiness(object) = lend('readiness', [
  if std.isObject(object) then {
    [if std.objectHas(object, field) then field]: object[field]
    for field in ['apiVersion', 'kind', 'metadata', 'spec', 'status']
  } else object,
]);
local isReady(object) = object != null && readiness(object)[0] == 'Ready';

local findChild(caller, groups, child, parent) =
  local wanted = groupKey(child.apiVersion, child.kind);
  local group = if std.objectHas(groups, wanted) then groups[wanted] else noGroup(caller, groups, wanted);
  local found = at(group, childKey(child, parent, 'v2'));
  if found == null then at(group, childKey(child, parent, 'v1')) else found;

local selectorOf(caller, options) =
  local ofLabels = at(at(options, 'labels'), 'app');
  local default = { app: if ofLabels == null then childName(text(caller, 'name', at(options, 'name'))) else ofLabels };
  texts(caller, 'selector', at(options, 'selector', default));

local metadata(caller, options, selector={}) =
  local all = texts(caller, 'labels', at(options, 'labels')) + selector;
  local annotations = at(options, 'annotations');
  local checked = texts(caller, 'annotations', annotations);
  { name: text(caller, 'name', at(options, 'name')) }
  + given({ namespace: at(options, 'namespace'), annotations: if annotations != null then checked })
  + (if all == {} then {} else { labels: all });

local variable(caller, name, value) =
  if std.isObject(value) then { name: name, valueFrom: value }
  else if std.isString(value) then { name: name, value: value }
  else if std.isBoolean(value) || std.isNumber(value) && std.floor(value) == value && std.abs(value) < 9007199254740992
  then { name: name, value: std.toString(value) }
  else wrong(caller, 'env.' + name, value, 'a string, a whole number, true, false or an object such as {secretKeyRef: {...}}');

local newContainer(caller, parameter, container) =
  if !std.isObject(container) || !std.isString(at(container, 'name')) || !std.isString(at(container, 'image'))
  then wrong(caller, parameter, container, 'containers with name and image')
  else
    local ports = at(container, 'ports'), env = at(container, 'env');
    { securityContext: { allowPrivilegeEscalation: false } }
    + container
    + (if ports == null then {} else {
         ports: [if std.isNumber(port) then { containerPort: port } else port for port in list(caller, 'ports', ports)],
       })
    + (if !std.isObject(env) then {} else {
         env: [variable(caller, name, env[name]) for name in std.objectFields(env) if env[name] != null],
       });

local newPodSpec(caller, spec) =
  if !std.isObject(spec) then wrong(caller, if caller == 'podSpec' then 'spec' else 'podSpec', spec, 'an object with containers')
  else
    local containers = list(caller, 'containers', at(spec, 'containers')), initContainers = at(spec, 'initContainers');
    if containers == [] then wrong(caller, 'containers', at(spec, 'containers'), 'a list of containers')
    else {
      automountServiceAccountToken: at(spec, 'serviceAccountName') != null,
      enableServiceLinks: false,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    } + spec + {
      containers: [newContainer(caller, 'containers', container) for container in containers],
      [if initContainers != null then 'initContainers']: [
        newContainer(caller, 'initContainers', container)
        for container in list(caller, 'initContainers', initContainers)
      ],
    };

local workloadOptions = ['name', 'namespace', 'labels', 'annotations', 'podSpec', 'podAnnotations', 'spec'];

local podTemplate(labels, options, spec) =
  local meta = given({ labels: labels, annotations: at(options, 'podAnnotations') });
  (if meta == {} then {} else { metadata: meta }) + { spec: spec };

// A Deployment or a StatefulSet.
local replicated(caller, kind, options, fields, own=[]) =
  local checked = checkOptions(caller, options, workloadOptions + ['replicas', 'selector'] + own);
  local selector = selectorOf(caller, checked);
  local meta = metadata(caller, checked, selector);
  local spec = given({ replicas: at(checked, 'replicas') }) + fields + {
    selector: { matchLabels: selector },
    template: podTemplate(meta.labels, checked, newPodSpec(caller, at(checked, 'podSpec'))),
  };
  { apiVersion: 'apps/v1', kind: kind, metadata: meta, spec: merge(spec, object(caller, 'spec', at(checked, 'spec'))) };

{
  groupKey(apiVersion, kind):: groupKey(apiVersion, kind),

  childKey(child, parent=null, version='v2')::
    assert version == 'v1' || version == 'v2' : 'childKey: version ' + std.manifestJsonMinified(version) + ' is neither "v1" nor "v2"';
    childKey(child, parent, version),

  objectsOf(groups, apiVersion, kind)::
    local wanted = groupKey(apiVersion, kind);
    if std.objectHas(groups, wanted) then std.objectValues(groups[wanted]) else noGroup('objectsOf', groups, wanted),

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

  ordinalOf(name, base):: ordinalOf(name, base),

  hash(value):: std.substr(std.sha256(std.manifestJsonMinified(value)), 0, 16),

  // Names and labels

  childName(base, suffix=null, maxLength=null):: childName(base, suffix, maxLength),

  hashedName(base, content):: lend('hashedName', [base, content]),

  recommendedLabels(options)::
    local keys = { name: 'name', instance: 'instance', version: 'version', component: 'component', partOf: 'part-of', managedBy: 'managed-by' };
    local checked = checkOptions('recommendedLabels', options, ['name', 'instance', 'version', 'component', 'partOf', 'managedBy']);
    {
      ['app.kubernetes.io/' + keys[option]]: childName(text('recommendedLabels', option, checked[option]))
      for option in std.objectFields(checked)
      if checked[option] != null
    },

  withLabels(object, labels)::
    local added = { metadata: { labels: texts('withLabels', 'labels', labels) } };
    if !std.isObject(object) then wrong('withLabels', 'object', object, 'an object')
    else merge(object, if std.isObject(at(at(object, 'spec'), 'template')) then added { spec: { template: added } } else added),

  merge(base, over):: merge(object('merge', 'base', base), object('merge', 'over', over)),

  // Objects that controllers write

  podSpec(spec):: newPodSpec('podSpec', spec),

  pod(options)::
    local checked = checkOptions('pod', options, ['name', 'namespace', 'labels', 'annotations', 'podSpec']);
    { apiVersion: 'v1', kind: 'Pod', metadata: metadata('pod', checked), spec: newPodSpec('pod', at(checked, 'podSpec')) },

  deployment(options):: replicated('deployment', 'Deployment', options, {}),

  statefulSet(options)::
    local name = at(options, 'name');
    replicated('statefulSet', 'StatefulSet', options, given({ serviceName: at(options, 'serviceName', name) }), ['serviceName']),

  job(options)::
    local checked = checkOptions('job', options, workloadOptions);
    local meta = metadata('job', checked);
    local pods = { restartPolicy: 'Never' } + newPodSpec('job', at(checked, 'podSpec'));
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: meta,
      spec: merge({ template: podTemplate(at(meta, 'labels'), checked, pods) }, object('job', 'spec', at(checked, 'spec'))),
    },

  service(options)::
    local checked = checkOptions('service', options, ['name', 'namespace', 'labels', 'annotations', 'selector', 'ports', 'spec']);
    local ports = [
      if std.isNumber(port) then { name: 'port-' + port, port: port } else port
      for port in list('service', 'ports', at(checked, 'ports'))
    ];
    local spec = { selector: selectorOf('service', checked), [if ports != [] then 'ports']: ports };
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata('service', checked),
      spec: merge(spec, object('service', 'spec', at(checked, 'spec'))),
    },

  configMap(options)::
    local checked = checkOptions('configMap', options, ['name', 'namespace', 'labels', 'annotations', 'data', 'binaryData', 'immutable']);
    local texts_(field) = if at(checked, field) != null then texts('configMap', field, checked[field]);
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata('configMap', checked) }
    + given({ data: texts_('data'), binaryData: texts_('binaryData'), immutable: at(checked, 'immutable') }),

  // Conditions and readiness

  isReady(object):: isReady(object),

  findChild(groups, child, parent):: findChild('findChild', groups, child, parent),

  readyCondition(groups, desired, parent, type='Ready')::
    local states = [
      local state = readiness(findChild('readyCondition', groups, child, parent));
      { state: state[0], message: child.kind + ' ' + child.metadata.name + ': ' + state[1] }
      for child in list('readyCondition', 'desired', desired)
    ];
    local unready = [s for s in states if s.state != 'Ready'];
    local failed = [s for s in unready if s.state == 'Failed'];
    local told = (failed + [s for s in unready if s.state != 'Failed'])[:3];
    local counted = (std.length(states) - std.length(unready)) + ' of ' + std.length(states) + ' ready';
    if unready == [] then { type: type, status: 'True', reason: 'Ready', message: counted }
    else {
      type: type,
      status: 'False',
      reason: if failed == [] then 'InProgress' else 'Failed',
      message: std.join('; ', [counted] + [s.message for s in told]),
    },

  // One after the other

  wantedOrdinals(objects, base, replicas)::
    local existing = {
      ['' + ordinalOf(o.metadata.name, base)]: o
      for o in list('wantedOrdinals', 'objects', objects)
      if ordinalOf(o.metadata.name, base) != null
    };
    local hasFailed(o) = at(o, 'apiVersion') == 'v1' && at(o, 'kind') == 'Pod' && at(at(o, 'status'), 'phase') == 'Failed';
    local next(state, ordinal) =
      local o = std.get(existing, '' + ordinal);
      {
        wanted: state.wanted + (if if o == null then state.goOn else !hasFailed(o) then [ordinal] else []),
        goOn: state.goOn && isReady(o),
      };
    local surplus = std.sort([std.parseInt(key) for key in std.objectFields(existing) if std.parseInt(key) >= replicas]);
    if !std.isNumber(replicas) || replicas < 0 || std.floor(replicas) != replicas
    then wrong('wantedOrdinals', 'replicas', replicas, 'a whole number from 0')
    else std.foldl(next, std.range(0, replicas - 1), { wanted: [], goOn: true }).wanted + surplus[:std.max(std.length(surplus) - 1, 0)],

  inOrder(groups, stages, parent)::
    local next(state, stage) =
      local found = [[child, findChild('inOrder', groups, child, parent)] for child in list('inOrder', 'stages', stage)];
      {
        children: state.children + [f[0] for f in found if state.goOn || f[1] != null],
        goOn: state.goOn && std.all([isReady(f[1]) for f in found]),
      };
    std.foldl(next, list('inOrder', 'stages', stages), { children: [], goOn: true }).children,

  tearDown(groups, stages, parent)::
    local existing = [
      [child for child in list('tearDown', 'stages', stage) if findChild('tearDown', groups, child, parent) != null]
      for stage in list('tearDown', 'stages', stages)
    ];
    local left = [stage for stage in existing if stage != []];
    { children: std.flattenArrays(left[:std.max(std.length(left) - 1, 0)]), finalized: left == [] },

  // Waiting

  waiting(reason, message)::
    local isWord = std.isString(reason) && std.native('regexMatch')('^[A-Z][A-Za-z0-9]*$', reason);
    if !isWord then wrong('waiting', 'reason', reason, 'a word such as "SecretMissing"')
    else { waiting: { reason: reason, message: text('waiting', 'message', message) } },

  needs(object, what)::
    local state = readiness(object), checked = text('needs', 'what', what);
    if state[0] == 'Ready' then null
    else self.waiting(if object == null then 'NotFound' else 'NotReady', 'waits for ' + checked + ': ' + state[1]),

  // Quantities and durations

  parseQuantity(quantity):: lend('parseQuantity', [quantity]),

  formatQuantity(number, format=null):: lend('formatQuantity', [number, format]),

  compareQuantities(a, b):: lend('compareQuantities', [a, b]),

  addQuantities(a, b):: lend('addQuantities', [a, b]),

  parseDuration(duration):: lend('parseDuration', [duration]),

  formatDuration(seconds):: lend('formatDuration', [seconds]),
}
