// What examples/catset/sync.js does, in Jsonnet.
local get(object, path, default={}) = std.foldl(function(o, key) std.get(o, key, default), path, object);

local isGoing(pod) = std.objectHas(pod.metadata, 'deletionTimestamp');
local hasFailed(pod) = std.get(std.get(pod, 'status', {}), 'phase') == 'Failed';
local isReady(pod) =
  pod != null && !isGoing(pod)
  && std.length([c for c in std.get(std.get(pod, 'status', {}), 'conditions', []) if c.type == 'Ready' && c.status == 'True']) > 0;

local digits = std.set(std.stringChars('0123456789'));
local isNumber(text) = text != '' && std.length(std.setDiff(std.set(std.stringChars(text)), digits)) == 0;

function(request)
  local set = request.parent;
  local prefix = '%s-' % set.metadata.name;
  local replicas = set.spec.replicas;

  // The pods of the set, by their number.
  local entries = [
    { ordinal: std.parseInt(std.substr(pod.metadata.name, std.length(prefix), 99)), pod: pod }
    for pod in std.objectValues(request.children['Pod.v1'])
    if std.startsWith(pod.metadata.name, prefix) && isNumber(std.substr(pod.metadata.name, std.length(prefix), 99))
  ];
  local pods = { ['%d' % e.ordinal]: e.pod for e in entries };
  local pod(ordinal) = std.get(pods, '%d' % ordinal);

  // Upwards in order, downwards one at a time.
  local up = std.foldl(
    function(state, ordinal)
      local p = pod(ordinal);
      local stays = if p != null then !hasFailed(p) else state.allReady;
      { wanted: state.wanted + if stays then [ordinal] else [], allReady: state.allReady && isReady(p) },
    std.range(0, replicas - 1),
    { wanted: [], allReady: true }
  ).wanted;
  local surplus = std.sort([e.ordinal for e in entries if e.ordinal >= replicas]);
  local ordinals = up + surplus[0:std.max(0, std.length(surplus) - 1)];

  local templates = std.get(set.spec, 'volumeClaimTemplates', []);
  local podName(ordinal) = '%s-%d' % [set.metadata.name, ordinal];
  local claimName(template, ordinal) = '%s-%s' % [template.metadata.name, podName(ordinal)];

  local newClaim(template, ordinal) = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: claimName(template, ordinal),
      labels: std.get(template.metadata, 'labels', {}) + set.spec.selector.matchLabels,
      annotations: std.get(template.metadata, 'annotations', {}),
    },
    spec: template.spec,
  };

  local newPod(ordinal) =
    local template = set.spec.template;
    local own = [{ name: t.metadata.name, persistentVolumeClaim: { claimName: claimName(t, ordinal) } } for t in templates];
    local isOwn(volume) = std.member([o.name for o in own], volume.name);
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: podName(ordinal), labels: get(template, ['metadata', 'labels']), annotations: get(template, ['metadata', 'annotations']) },
      spec: template.spec {
        hostname: podName(ordinal),
        subdomain: std.get(set.spec, 'serviceName', ''),
        volumes: [v for v in std.get(template.spec, 'volumes', []) if !isOwn(v)] + own,
      },
    };

  local wantedClaims = [newClaim(t, ordinal) for ordinal in ordinals for t in templates];
  local wantedNames = [c.metadata.name for c in wantedClaims];
  local otherClaims = [
    { apiVersion: c.apiVersion, kind: c.kind, metadata: { name: c.metadata.name } + if 'labels' in c.metadata then { labels: c.metadata.labels } else {} }
    for c in std.objectValues(request.children['PersistentVolumeClaim.v1'])
    if !std.member(wantedNames, c.metadata.name)
  ];

  {
    status: {
      replicas: std.length(entries),
      readyReplicas: std.length([e for e in entries if isReady(e.pod)]),
      currentReplicas: std.length([e for e in entries if e.ordinal < replicas && !isGoing(e.pod)]),
      selector: std.join(',', ['%s=%s' % [kv.key, kv.value] for kv in std.objectKeysValues(set.spec.selector.matchLabels)]),
    },
    children: wantedClaims + otherClaims + [newPod(ordinal) for ordinal in ordinals],
  }
