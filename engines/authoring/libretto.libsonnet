// The module "libretto" for Jsonnet. libretto.js has the same functions for JavaScript,
// and module.d.ts says what they are for.

local
  // The field of an object, or the default if there is no object or no field, or if it is null.
  at(object, field, default=null) =
    local value = if std.type(object) == 'object' && std.objectHasEx(object, field, true) then object[field];
    if value == null then default else value,

  first(list) = if std.length(list) == 0 then null else list[0],

  lend(name, args) = std.native('$libretto')(name, args),

  // The value, once the checks hold: each of them is true, or fails with what is wrong. Values that functions return are
  // checked before, because in parts that are evaluated later an error has no place in the author's text.
  after(checks, value) = if all(checks) then value,

  // all is std.all, which is written in Jsonnet and takes longer than what it looks at.
  all(checks) = !std.member(checks, false),

  wrong(caller, parameter, value, want) =
    error caller + ': ' + parameter + ' is ' + lend('show', [if std.isFunction(value) then 'a function' else value]) + ', want ' + want,
  noGroup(caller, groups, wanted) =
    error caller + ': there is no group ' + wanted + ', only [' + std.join(', ', std.objectFields(groups)) + ']',
  check(isRight, want) = function(caller, parameter, value) isRight(value) || wrong(caller, parameter, value, want),

  // The names of the fields that have a value.
  given(fields) = if std.isObject(fields) then [name for name in std.objectFields(fields) if fields[name] != null] else [],
  withValues(fields) = { [name]: fields[name] for name in given(fields) },

  isWhole(value) = std.isNumber(value) && std.floor(value) == value,
  isText = check(function(value) std.isString(value) && value != '', 'a string'),
  isString = check(std.isString, 'a string'),
  isList = check(std.isArray, 'a list'),
  isObject = check(std.isObject, 'an object'),
  isCount = check(function(value) isWhole(value) && value >= 0, 'a whole number from 0'),
  isPort = check(function(value) std.isObject(value) || isWhole(value), 'a whole number or an object'),
  isContainer = check(
    function(value) std.isString(at(value, 'name')) && std.isString(at(value, 'image')),
    'an object with name and image'
  ),
  isVariable = check(
    function(value)
      std.isObject(value) || std.isString(value) || std.isBoolean(value) || isWhole(value) && std.abs(value) < 9007199254740992,
    'a string, a whole number, true, false or an object such as {secretKeyRef: {...}}'
  ),

  // For a map of strings, such as labels.
  isTexts(caller, parameter, value) =
    isObject(caller, parameter, value)
    && all([
      std.type(value[key]) == 'string' || isString(caller, parameter + '[' + std.manifestJsonMinified(key) + ']', value[key])
      for key in std.objectFields(value)
    ]),

  // For a list whose items another check is for.
  isListOf(isItem) = function(caller, parameter, value)
    isList(caller, parameter, value) && all(std.mapWithIndex(function(i, item) isItem(caller, parameter + '[' + i + ']', item), value)),
  isPorts = isListOf(isPort),
  isContainers = isListOf(
    function(caller, parameter, container)
      local env = at(container, 'env');
      isContainer(caller, parameter, container)
      && isPorts(caller, parameter + '.ports', at(container, 'ports', []))
      && all([isVariable(caller, parameter + '.env.' + name, env[name]) for name in given(env)])
  ),

  isPodSpec(caller, parameter, spec) =
    isObject(caller, parameter, spec)
    && isContainers(caller, 'containers', at(spec, 'containers'))
    && isContainers(caller, 'initContainers', at(spec, 'initContainers', [])),

  optionChecks = {
    name: isText, namespace: isText, serviceName: isText, labels: isTexts, annotations: isTexts, podAnnotations: isTexts, selector: isTexts,
    data: isTexts, binaryData: isTexts, replicas: isCount, ports: isPorts, spec: isObject, podSpec: isPodSpec,
  },

  // For the names of options.
  isKnown(caller, options, known) =
    local odd = std.filter(function(option) !std.member(known, option), std.objectFields(options));
    if !std.isObject(options) then wrong(caller, 'options', options, 'an object with ' + std.join(', ', known))
    else odd == [] || error caller + ': there is no option ' + odd[0] + ', only [' + std.join(', ', std.sort(known)) + ']',

  // For options and their values. Name is required, and podSpec where there is one.
  areOptions(caller, options, known) =
    local isRight(option) = optionChecks[option](caller, option, at(options, option));
    isKnown(caller, options, known)
    && isRight('name')
    && (!std.member(known, 'podSpec') || isRight('podSpec'))
    && all([isRight(option) for option in given(options) if std.objectHas(optionChecks, option)]),

  groupKey(apiVersion, kind) = kind + '.' + apiVersion,

  childKey(child, parent, version) =
    local name = child.metadata.name;
    local of = at(at(parent, 'metadata'), 'namespace', '');
    local own = at(child.metadata, 'namespace', '');
    local namespace = if own == '' then of else own;
    if namespace == '' || version == 'v1' && of != '' then name else namespace + '/' + name,

  ordinalOf(name, base) =
    local digits = if std.startsWith(name, base + '-') then std.substr(name, std.length(base) + 1, std.length(name)) else '';
    local isNumber = all([c >= '0' && c <= '9' for c in std.stringChars(digits)]);
    if digits == '0' then 0
    else if digits == '' || digits[0] == '0' || std.length(digits) > 10 || !isNumber then null
    else std.parseInt(digits),

  childName(base, suffix=null, maxLength=null) = lend('childName', [base, suffix, maxLength]),

  merge(base, over) = base + {
    [key]: if std.isObject(over[key]) && std.isObject(at(base, key)) then merge(base[key], over[key]) else over[key]
    for key in std.objectFields(over)
  },

  // The state of an object and why. What the host does not look at is left out, because it would be evaluated.
  readiness(caller, object) =
    local only(fields, object) = if std.isObject(object) then { [f]: object[f] for f in fields if std.objectHas(object, f) } else object;
    if object != null && !std.isObject(object) then wrong(caller, 'object', object, 'an object of the cluster or null')
    else lend('readiness', [if object != null then only(['apiVersion', 'kind', 'status'], object) {
      metadata: only(['deletionTimestamp', 'generation'], at(object, 'metadata')),
      spec: only(['type', 'replicas', 'completions', 'updateStrategy'], at(object, 'spec')),
    }]),
  isReady(caller, object) = readiness(caller, object)[0] == 'Ready',

  // The keys of both versions differ in a namespace's parent: childKey is written out here, as hooks look for all of their children.
  find(caller, groups, child, parent) =
    local apiVersion = at(child, 'apiVersion'), kind = at(child, 'kind'), metadata = at(child, 'metadata'), name = at(metadata, 'name');
    local isNamed = std.isString(apiVersion) && std.isString(kind) && std.isString(name), wanted = groupKey(apiVersion, kind);
    local group = if std.objectHas(groups, wanted) then groups[wanted] else noGroup(caller, groups, wanted);
    local of = at(at(parent, 'metadata'), 'namespace', ''), own = at(metadata, 'namespace', ''), namespace = if own == '' then of else own;
    local found = at(group, if namespace == '' then name else namespace + '/' + name);
    if !isNamed then wrong(caller, 'child', child, 'an object with apiVersion, kind and metadata.name')
    else after([isObject(caller, 'groups', groups)], if found == null && of != '' then at(group, name) else found),

  // The children of stages, each with the object that there is.
  stagesOf(caller, groups, stages, parent) =
    local found = [[{ child: child, object: find(caller, groups, child, parent) } for child in stage] for stage in stages];
    after([isListOf(isList)(caller, 'stages', stages), all([c.object == null || true for c in std.flattenArrays(found)])], found),

  objectOptions = ['name', 'namespace', 'labels', 'annotations'],
  workloadOptions = objectOptions + ['podSpec', 'podAnnotations', 'spec'],

  selectorOf(options) =
    local app = at(at(options, 'labels'), 'app');
    at(options, 'selector', { app: if app == null then childName(options.name) else app }),

  metadata(options, selector={}) =
    local labels = at(options, 'labels', {}) + selector;
    { name: options.name }
    + withValues({ namespace: at(options, 'namespace'), annotations: at(options, 'annotations') })
    + { [if labels != {} then 'labels']: labels },

  newPorts(ports, make) = [if std.isObject(port) then port else make(port) for port in ports],
  newVariable(name, value) =
    if std.isObject(value) then { name: name, valueFrom: value } else { name: name, value: std.toString(value) },

  newContainer(container) =
    local ports = at(container, 'ports'), env = at(container, 'env');
    { securityContext: { allowPrivilegeEscalation: false } } + container + {
      [if ports != null then 'ports']: newPorts(ports, function(port) { containerPort: port }),
      [if std.isObject(env) then 'env']: [newVariable(name, env[name]) for name in given(env)],
    },

  newPodSpec(spec) =
    local initContainers = at(spec, 'initContainers');
    {
      automountServiceAccountToken: at(spec, 'serviceAccountName') != null,
      enableServiceLinks: false,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    } + spec + {
      containers: std.map(newContainer, spec.containers),
      [if initContainers != null then 'initContainers']: std.map(newContainer, initContainers),
    },

  podTemplate(labels, options, spec) =
    local meta = withValues({ labels: labels, annotations: at(options, 'podAnnotations') });
    { [if meta != {} then 'metadata']: meta, spec: spec },

  // A Deployment or a StatefulSet.
  replicated(kind, options, fields) =
    local selector = selectorOf(options), meta = metadata(options, selector);
    local spec = withValues({ replicas: at(options, 'replicas') }) + fields + {
      selector: { matchLabels: selector },
      template: podTemplate(meta.labels, options, newPodSpec(options.podSpec)),
    };
    { apiVersion: 'apps/v1', kind: kind, metadata: meta, spec: merge(spec, at(options, 'spec', {})) };

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
    && all([has(key) && labels[key] == given[key] for key in std.objectFields(given)])
    && all([holds(e) for e in at(selector, 'matchExpressions', [])]),

  ordinalOf(name, base):: ordinalOf(name, base),

  hash(value):: std.substr(std.sha256(std.manifestJsonMinified(value)), 0, 16),

  // Names and labels

  childName(base, suffix=null, maxLength=null):: childName(base, suffix, maxLength),

  hashedName(base, content):: lend('hashedName', [base, content]),

  recommendedLabels(options)::
    local keys = { partOf: 'part-of', managedBy: 'managed-by' };
    after(
      [isKnown('recommendedLabels', options, ['name', 'instance', 'version', 'component', 'partOf', 'managedBy'])]
      + [isText('recommendedLabels', option, options[option]) for option in given(options)],
      { ['app.kubernetes.io/' + std.get(keys, option, option)]: childName(options[option]) for option in given(options) }
    ),

  withLabels(object, labels)::
    local added = { metadata: { labels: if labels == null then {} else labels } };
    local hasTemplate = std.isObject(at(at(object, 'spec'), 'template'));
    after(
      [isObject('withLabels', 'object', object), isTexts('withLabels', 'labels', added.metadata.labels)],
      merge(object, added { [if hasTemplate then 'spec']: { template: added } })
    ),

  merge(base, over):: after([isObject('merge', 'base', base), isObject('merge', 'over', over)], merge(base, over)),

  // Objects that controllers write

  podSpec(spec):: after([isPodSpec('podSpec', 'spec', spec)], newPodSpec(spec)),

  pod(options)::
    after(
      [areOptions('pod', options, objectOptions + ['podSpec'])],
      { apiVersion: 'v1', kind: 'Pod', metadata: metadata(options), spec: newPodSpec(options.podSpec) }
    ),

  deployment(options)::
    after([areOptions('deployment', options, workloadOptions + ['replicas', 'selector'])], replicated('Deployment', options, {})),

  statefulSet(options)::
    after(
      [areOptions('statefulSet', options, workloadOptions + ['replicas', 'selector', 'serviceName'])],
      replicated('StatefulSet', options, { serviceName: at(options, 'serviceName', options.name) })
    ),

  job(options)::
    local meta = metadata(options);
    local template = podTemplate(at(meta, 'labels'), options, { restartPolicy: 'Never' } + newPodSpec(options.podSpec));
    after(
      [areOptions('job', options, workloadOptions)],
      { apiVersion: 'batch/v1', kind: 'Job', metadata: meta, spec: merge({ template: template }, at(options, 'spec', {})) }
    ),

  service(options)::
    local ports = newPorts(at(options, 'ports', []), function(port) { name: 'port-' + port, port: port });
    local spec = { selector: selectorOf(options), [if ports != [] then 'ports']: ports };
    after(
      [areOptions('service', options, objectOptions + ['selector', 'ports', 'spec'])],
      { apiVersion: 'v1', kind: 'Service', metadata: metadata(options), spec: merge(spec, at(options, 'spec', {})) }
    ),

  configMap(options)::
    local fields = ['data', 'binaryData', 'immutable'];
    after(
      [areOptions('configMap', options, objectOptions + fields)],
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata(options) } + withValues({ [field]: at(options, field) for field in fields })
    ),

  // Conditions and readiness

  isReady(object):: isReady('isReady', object),

  findChild(groups, child, parent):: find('findChild', groups, child, parent),

  readyCondition(groups, desired, parent, type='Ready')::
    local stateOf(child) =
      local state = readiness('readyCondition', find('readyCondition', groups, child, parent));
      { state: state[0], message: child.kind + ' ' + child.metadata.name + ': ' + state[1] };
    local states = after([isList('readyCondition', 'desired', desired)], std.map(stateOf, desired));
    local unready = [s for s in states if s.state != 'Ready'];
    local failed = [s for s in unready if s.state == 'Failed'];
    local told = (failed + [s for s in unready if s.state != 'Failed'])[:3];
    local counted = (std.length(states) - std.length(unready)) + ' of ' + std.length(states) + ' ready';
    local message = std.join('; ', [counted] + [s.message for s in told]);
    if unready == [] then { type: type, status: 'True', reason: 'Ready', message: message }
    else { type: type, status: 'False', reason: if failed == [] then 'InProgress' else 'Failed', message: message },

  // One after the other

  wantedOrdinals(objects, base, replicas)::
    local existing = {
      ['' + ordinalOf(object.metadata.name, base)]: object
      for object in objects
      if ordinalOf(object.metadata.name, base) != null
    };
    local isPod(object) = at(object, 'apiVersion') == 'v1' && at(object, 'kind') == 'Pod';
    local hasFailed(object) = isPod(object) && at(at(object, 'status'), 'phase') == 'Failed';
    local next(state, ordinal) =
      local object = std.get(existing, '' + ordinal);
      {
        wanted: state.wanted + (if if object == null then state.goOn else !hasFailed(object) then [ordinal] else []),
        goOn: state.goOn && isReady('wantedOrdinals', object),
      };
    local ordinals = std.sort(std.map(std.parseInt, std.objectFields(existing)));
    local surplus = [ordinal for ordinal in ordinals if ordinal >= replicas];
    local end = std.min(replicas, std.foldl(std.max, ordinals, -1) + 2);  // What is higher waits.
    after(
      [
        isList('wantedOrdinals', 'objects', objects),
        isText('wantedOrdinals', 'base', base),
        isCount('wantedOrdinals', 'replicas', replicas),
      ],
      std.foldl(next, std.range(0, end - 1), { wanted: [], goOn: true }).wanted + surplus[:std.max(std.length(surplus) - 1, 0)]
    ),

  inOrder(groups, stages, parent)::
    local next(state, stage) = {
      children: state.children + [c.child for c in stage if state.goOn || c.object != null],
      goOn: state.goOn && all([isReady('inOrder', c.object) for c in stage]),
    };
    std.foldl(next, stagesOf('inOrder', groups, stages, parent), { children: [], goOn: true }).children,

  tearDown(groups, stages, parent)::
    local existing = [[c.child for c in stage if c.object != null] for stage in stagesOf('tearDown', groups, stages, parent)];
    local left = [stage for stage in existing if stage != []];
    local isDone = left == [];
    after([isDone || true], { children: std.flattenArrays(left[:std.max(std.length(left) - 1, 0)]), finalized: isDone }),

  // Waiting

  waiting(reason, message)::
    local isReason = check(
      function(value) std.isString(value) && std.native('regexMatch')('^[A-Z][A-Za-z0-9]*$', value), 'a word such as "SecretMissing"'
    );
    after(
      [isReason('waiting', 'reason', reason), isText('waiting', 'message', message)],
      { waiting: { reason: reason, message: message } }
    ),

  needs(object, what)::
    local state = readiness('needs', object);
    local waiting = self.waiting(if object == null then 'NotFound' else 'NotReady', 'waits for ' + what + ': ' + state[1]);
    after([isText('needs', 'what', what)], if state[0] == 'Ready' then null else waiting),

  // Quantities and durations

  parseQuantity(quantity):: lend('parseQuantity', [quantity]),

  formatQuantity(number, format=null):: lend('formatQuantity', [number, format]),

  compareQuantities(a, b):: lend('compareQuantities', [a, b]),

  addQuantities(a, b):: lend('addQuantities', [a, b]),

  parseDuration(duration):: lend('parseDuration', [duration]),

  formatDuration(seconds):: lend('formatDuration', [seconds]),
}
