// The module "libretto" for Jsonnet. libretto.js has the same functions for JavaScript,
// and module.d.ts says what they are for.

local
  // The field of an object, or the default if there is no object or no field, or if it is null.
  at(object, field, default=null) =
    local value = if std.isObject(object) then std.get(object, field);
    if value == null then default else value,

  first(list) = if std.length(list) == 0 then null else list[0],

  // std.all and std.mapWithIndex are written in Jsonnet, and take several times as long as std.filter.
  every(holds, list) = std.length(std.filter(holds, list)) == std.length(list),
  indices(list) = std.range(0, std.length(list) - 1),

  lend(name, args) = std.native('$libretto')(name, args),

  // The value, once the checks hold: each of them is true, or fails with what is wrong. Values that functions return are
  // checked before, because in parts that are evaluated later an error has no place in the author's text.
  after(checks, value) = if every(function(holds) holds, checks) then value,

  wrong(caller, parameter, value, want) =
    error caller + ': ' + parameter + ' is ' + lend('show', [if std.isFunction(value) then 'a function' else value]) + ', want ' + want,
  check(isRight, want) = function(caller, parameter, value) isRight(value) || wrong(caller, parameter, value, want),

  // The names of the fields that have a value.
  given(fields) = if std.isObject(fields) then std.filter(function(name) fields[name] != null, std.objectFields(fields)) else [],

  isWhole(value) = std.isNumber(value) && std.floor(value) == value,
  isText = check(function(value) std.isString(value) && value != '', 'a non-empty string'),
  isString = check(std.isString, 'a string'),
  isList = check(std.isArray, 'a list'),
  isObject = check(std.isObject, 'an object'),
  isStringOrNull = check(function(value) value == null || std.isString(value), 'a string or null'),
  isListOrNull = check(function(value) value == null || std.isArray(value), 'a list or null'),
  isObjectOrNull = check(function(value) value == null || std.isObject(value), 'an object or null'),
  isNamed = check(function(value) std.isString(at(at(value, 'metadata'), 'name')), 'an object with metadata.name'),
  isCondition = check(
    function(value) at(value, 'type', '') != '' && std.isString(value.type) && std.isString(at(value, 'status')),
    'an object with type and status, which are strings'
  ),
  isSelector = check(
    function(value) std.isObject(value) && std.setDiff(std.objectFields(value), ['matchExpressions', 'matchLabels']) == [],
    'an object with matchLabels and matchExpressions, or null'
  ),
  isCount = check(function(value) isWhole(value) && value >= 0, 'a whole number from 0'),
  isPort = check(
    function(value) std.isObject(value) || isWhole(value) && value > 0 && value < 65536, 'a number from 1 to 65535 or an object'
  ),
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
    && every(
      function(key) isString(caller, parameter + '[' + std.manifestJsonMinified(key) + ']', value[key]), std.objectFields(value)
    ),

  // For a list whose items another check is for.
  isListOf(isItem) = function(caller, parameter, value)
    isList(caller, parameter, value)
    && every(function(i) isItem(caller, parameter + '[' + i + ']', value[i]), indices(value)),
  isPorts = isListOf(isPort),
  isContainers = isListOf(
    function(caller, parameter, container)
      local env = at(container, 'env');
      isContainer(caller, parameter, container)
      && isPorts(caller, parameter + '.ports', at(container, 'ports', []))
      && every(function(name) isVariable(caller, parameter + '.env.' + name, env[name]), given(env))
  ),

  isPodSpec(caller, parameter, spec) =
    isObject(caller, parameter, spec)
    && isContainers(caller, 'containers', at(spec, 'containers'))
    && isContainers(caller, 'initContainers', at(spec, 'initContainers', [])),

  optionChecks = {
    namespace: isText, serviceName: isText, labels: isTexts, annotations: isTexts, podAnnotations: isTexts, selector: isTexts,
    data: isTexts, binaryData: isTexts, replicas: isCount, ports: isPorts, spec: isObject,
  },

  // For the names of options.
  isKnown(caller, options, known) =
    local odd = std.filter(function(option) !std.member(known, option), std.objectFields(options));
    if !std.isObject(options) then wrong(caller, 'options', options, 'an object with ' + std.join(', ', known))
    else odd == [] || error caller + ': there is no option ' + odd[0] + ', only [' + std.join(', ', std.sort(known)) + ']',

  // For options and their values. Name is required, and podSpec where there is one.
  areOptions(caller, options, known) =
    local isRight(option) =
      options[option] == null || !std.objectHas(optionChecks, option) || optionChecks[option](caller, option, options[option]);
    isKnown(caller, options, known)
    && isText(caller, 'name', at(options, 'name'))
    && (!std.member(known, 'podSpec') || isPodSpec(caller, 'podSpec', at(options, 'podSpec')))
    && every(isRight, std.objectFields(options)),

  groupKey(caller, apiVersion, kind) =
    if isText(caller, 'kind', kind) && isText(caller, 'apiVersion', apiVersion) then kind + '.' + apiVersion,

  // The objects of a kind by their keys.
  groupOf(caller, groups, apiVersion, kind) =
    local wanted = groupKey(caller, apiVersion, kind);
    if !std.isObject(groups) then wrong(caller, 'groups', groups, 'children, attachments, outputs or related')
    else if !std.objectHas(groups, wanted)
    then error caller + ': there is no group ' + wanted + ', only [' + std.join(', ', std.objectFields(groups)) + ']'
    else if isObject(caller, 'groups["' + wanted + '"]', groups[wanted]) then groups[wanted],

  keyOf(caller, child, parent, version) =
    local name = child.metadata.name;
    local of = at(at(parent, 'metadata'), 'namespace', '');
    local own = at(child.metadata, 'namespace', '');
    local namespace = if own == '' then of else own;
    if !(parent == null || std.isObject(parent)) then wrong(caller, 'parent', parent, 'an object or null')
    else if !std.isString(of) then wrong(caller, 'metadata.namespace', of, 'a string or null')
    else if !std.isString(own) then wrong(caller, 'metadata.namespace', own, 'a string or null')
    else if namespace == '' || version == 'v1' && of != '' then name
    else namespace + '/' + name,

  ordinalOf(name, base) =
    local digits = if std.startsWith(name, base + '-') then std.substr(name, std.length(base) + 1, std.length(name)) else '';
    local isNumber = std.all([c >= '0' && c <= '9' for c in std.stringChars(digits)]);
    if digits == '0' then 0
    else if digits == '' || digits[0] == '0' || std.length(digits) > 10 || !isNumber then null
    else std.parseInt(digits),

  childName(base, suffix=null, maxLength=null) = lend('childName', [base, suffix, maxLength]),

  merge(base, over) = base + {
    [key]: if std.isObject(over[key]) && std.isObject(at(base, key)) then merge(base[key], over[key]) else over[key]
    for key in std.objectFields(over)
  },

  // The state of an object and why. What the host does not look at is left out, because it would be evaluated and converted.
  // Hooks ask for many objects: a function called for each field would take as long as the rest.
  readiness(caller, object) =
    local without = { apiVersion: null, kind: null, metadata: {}, spec: {}, status: {} };
    local withoutMetadata = { deletionTimestamp: null, generation: null };
    local withoutSpec = { type: null, replicas: null, completions: null, updateStrategy: null };
    local given = without + object;
    local metadata = if std.isObject(given.metadata) then withoutMetadata + given.metadata else withoutMetadata;
    local spec = if std.isObject(given.spec) then withoutSpec + given.spec else withoutSpec;
    if object == null then lend('readiness', [null])
    else if !std.isObject(object) then wrong(caller, 'object', object, 'an object of the cluster or null')
    else lend('readiness', [{
      apiVersion: given.apiVersion,
      kind: given.kind,
      metadata: { deletionTimestamp: metadata.deletionTimestamp, generation: metadata.generation },
      spec: { type: spec.type, replicas: spec.replicas, completions: spec.completions, updateStrategy: spec.updateStrategy },
      status: if std.isObject(given.status) then given.status { containerStatuses:: null, initContainerStatuses:: null },
    }]),
  isReady(caller, object) = readiness(caller, object)[0] == 'Ready',

  // findChild of a child that the caller has by that name.
  find(caller, parameter, groups, child, parent) =
    local names = [at(child, 'apiVersion'), at(child, 'kind'), at(at(child, 'metadata'), 'name')];
    local group = groupOf(caller, groups, child.apiVersion, child.kind);
    local found = at(group, keyOf(caller, child, parent, 'v2'));
    if !std.all(std.map(std.isString, names)) then wrong(caller, parameter, child, 'an object with apiVersion, kind and metadata.name')
    else if found == null then at(group, keyOf(caller, child, parent, 'v1'))
    else found,

  // The condition of a type. What is none is passed over: kinds of others may have anything there.
  conditionOf(caller, object, type) =
    local status = if std.isObject(object) && std.objectHas(object, 'status') then object.status;
    local conditions = if std.isObject(status) && std.objectHas(status, 'conditions') then status.conditions;
    local isWanted(c) = std.isObject(c) && std.objectHas(c, 'type') && c.type == type;
    if object != null && !std.isObject(object) then wrong(caller, 'object', object, 'an object or null')
    else if !std.isString(type) then wrong(caller, 'type', type, 'a string')
    else if std.isArray(conditions) then first(std.filter(isWanted, conditions)),

  // The children of stages, each with the object that there is.
  stagesOf(caller, groups, stages, parent) =
    local childAt(i) = function(j, child)
      { child: child, object: find(caller, 'stages[' + i + '][' + j + ']', groups, child, parent) };
    local found = std.mapWithIndex(function(i, stage) std.mapWithIndex(childAt(i), stage), stages);
    after([isListOf(isList)(caller, 'stages', stages), std.all([c.object == null || true for c in std.flattenArrays(found)])], found),

  objectOptions = ['name', 'namespace', 'labels', 'annotations'],
  workloadOptions = objectOptions + ['podSpec', 'podAnnotations', 'spec'],

  selectorOf(options) =
    local app = at(at(options, 'labels'), 'app');
    at(options, 'selector', { app: if app == null then childName(options.name) else app }),

  metadata(options, selector={}) =
    local labels = at(options, 'labels', {}) + selector;
    local namespace = at(options, 'namespace'), annotations = at(options, 'annotations');
    {
      name: options.name,
      [if namespace != null then 'namespace']: namespace,
      [if labels != {} then 'labels']: labels,
      [if annotations != null then 'annotations']: annotations,
    },

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
    local annotations = at(options, 'podAnnotations');
    local meta = { [if labels != null then 'labels']: labels, [if annotations != null then 'annotations']: annotations };
    { [if meta != {} then 'metadata']: meta, spec: spec },

  withSpec(spec, options) = local over = at(options, 'spec'); if over == null then spec else merge(spec, over),

  // A Deployment or a StatefulSet.
  replicated(kind, options, fields) =
    local selector = selectorOf(options), meta = metadata(options, selector);
    local replicas = at(options, 'replicas');
    local spec = fields {
      [if replicas != null then 'replicas']: replicas,
      selector: { matchLabels: selector },
      template: podTemplate(at(meta, 'labels'), options, newPodSpec(options.podSpec)),
    };
    { apiVersion: 'apps/v1', kind: kind, metadata: meta, spec: withSpec(spec, options) };

{
  groupKey(apiVersion, kind):: groupKey('groupKey', apiVersion, kind),

  childKey(child, parent=null, version='v2')::
    if version != 'v1' && version != 'v2' then wrong('childKey', 'version', version, '"v1" or "v2"')
    else if isNamed('childKey', 'child', child) then keyOf('childKey', child, parent, version),

  objectsOf(groups, apiVersion, kind):: std.objectValues(groupOf('objectsOf', groups, apiVersion, kind)),

  ownerName(object)::
    local references = at(at(object, 'metadata'), 'ownerReferences', []);
    if !std.isObject(at(object, 'metadata')) then wrong('ownerName', 'object', object, 'an object with metadata')
    else if isList('ownerName', 'metadata.ownerReferences', references)
    then at(first([r for r in references if at(r, 'controller') == true]), 'name'),

  findCondition(object, type):: conditionOf('findCondition', object, type),

  isConditionTrue(object, type):: at(conditionOf('isConditionTrue', object, type), 'status') == 'True',

  setCondition(conditions, condition, now=null)::
    local list = if conditions == null then [] else conditions;
    local isOld(one) = at(one, 'type') == condition.type;
    local old = first(std.filter(isOld, list));
    local kept = if at(old, 'status') == condition.status then at(old, 'lastTransitionTime', '') else '';
    local time = if kept == '' then now else kept;
    local changed = {
      [field]: condition[field]
      for field in std.objectFields(condition)
      if field != 'lastTransitionTime'
    } + (if time == null || time == '' then {} else { lastTransitionTime: time });
    after(
      [
        isListOrNull('setCondition', 'conditions', conditions),
        isCondition('setCondition', 'condition', condition),
        isStringOrNull('setCondition', 'now', now),
      ],
      if old == null then list + [changed] else [if isOld(one) then changed else one for one in list]
    ),

  matchesLabels(selector, labels)::
    local has(key) = std.isObject(labels) && std.objectHas(labels, key);
    local isAmong(e, parameter) =
      local values = at(e, 'values', []);
      has(e.key) && isList('matchesLabels', parameter + '.values', values) && std.member(values, labels[e.key]);
    local holds(i, e) =
      local operator = at(e, 'operator'), parameter = 'matchExpressions[' + i + ']';
      if !std.isString(at(e, 'key')) then wrong('matchesLabels', parameter, e, 'an object with key and operator')
      else if operator == 'In' then isAmong(e, parameter)
      else if operator == 'NotIn' then !isAmong(e, parameter)
      else if operator == 'Exists' then has(e.key)
      else if operator == 'DoesNotExist' then !has(e.key)
      else wrong('matchesLabels', parameter + '.operator', operator, 'In, NotIn, Exists or DoesNotExist');
    local wanted = at(selector, 'matchLabels', {}), expressions = at(selector, 'matchExpressions', []);
    selector != null
    && isSelector('matchesLabels', 'selector', selector)
    && isObjectOrNull('matchesLabels', 'labels', labels)
    && isObject('matchesLabels', 'matchLabels', wanted)
    && isList('matchesLabels', 'matchExpressions', expressions)
    && std.all([has(key) && labels[key] == wanted[key] for key in std.objectFields(wanted)])
    && std.all(std.mapWithIndex(holds, expressions)),

  ordinalOf(name, base)::
    if isString('ordinalOf', 'name', name) && isString('ordinalOf', 'base', base) then ordinalOf(name, base),

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
      { apiVersion: 'batch/v1', kind: 'Job', metadata: meta, spec: withSpec({ template: template }, options) }
    ),

  service(options)::
    local ports = newPorts(at(options, 'ports', []), function(port) { name: 'port-' + port, port: port });
    local spec = { selector: selectorOf(options), [if ports != [] then 'ports']: ports };
    after(
      [areOptions('service', options, objectOptions + ['selector', 'ports', 'spec'])],
      { apiVersion: 'v1', kind: 'Service', metadata: metadata(options), spec: withSpec(spec, options) }
    ),

  configMap(options)::
    local data = at(options, 'data'), binaryData = at(options, 'binaryData'), immutable = at(options, 'immutable');
    after(
      [areOptions('configMap', options, objectOptions + ['data', 'binaryData', 'immutable'])],
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: metadata(options),
        [if data != null then 'data']: data,
        [if binaryData != null then 'binaryData']: binaryData,
        [if immutable != null then 'immutable']: immutable,
      }
    ),

  // Conditions and readiness

  isReady(object):: isReady('isReady', object),

  findChild(groups, child, parent):: find('findChild', 'child', groups, child, parent),

  readyCondition(groups, desired, parent, type='Ready')::
    local stateOf(i, child) =
      local state = readiness('readyCondition', find('readyCondition', 'desired[' + i + ']', groups, child, parent));
      { state: state[0], message: child.kind + ' ' + child.metadata.name + ': ' + state[1] };
    local states = after([isList('readyCondition', 'desired', desired)], std.mapWithIndex(stateOf, desired));
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
    local ordinals = std.sort(std.map(std.parseInt, std.objectFields(existing)));
    local wanted = [o for o in ordinals if o < replicas && !hasFailed(existing['' + o])];
    local surplus = [o for o in ordinals if o >= replicas];
    local isReadyAt(o) = isReady('wantedOrdinals', std.get(existing, '' + o));
    local next = std.foldl(function(next, o) if next == o && isReadyAt(o) then o + 1 else next, ordinals, 0);
    local due = if next < replicas && !std.objectHas(existing, '' + next) then [next] else [];
    after(
      [
        isListOf(isNamed)('wantedOrdinals', 'objects', objects),
        isText('wantedOrdinals', 'base', base),
        isCount('wantedOrdinals', 'replicas', replicas),
      ],
      std.sort(wanted + due + surplus[:std.max(std.length(surplus) - 1, 0)])
    ),

  inOrder(groups, stages, parent)::
    local next(state, stage) = {
      children: state.children + [c.child for c in stage if state.goOn || c.object != null],
      goOn: state.goOn && std.all([isReady('inOrder', c.object) for c in stage]),
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

  // Texts

  encodeBase64(text):: lend('encodeBase64', [text]),

  decodeBase64(encoded):: lend('decodeBase64', [encoded]),

  sha256(text):: lend('sha256', [text]),

  canonicalJSON(value):: lend('canonicalJSON', [value]),

  seededRandom(seed):: lend('seededRandom', [seed]),

  parseYAML(text):: lend('parseYAML', [text]),

  formatYAML(value):: lend('formatYAML', [value]),

  parseURL(url):: lend('parseURL', [url]),

  // Versions and times

  compareVersions(a, b):: lend('compareVersions', [a, b]),

  satisfiesVersion(version, range):: lend('satisfiesVersion', [version, range]),

  nextTime(schedule, after):: lend('nextTime', [schedule, after]),
}
