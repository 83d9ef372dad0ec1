local isReady(pod) =
  pod != null && std.length([
    c
    for c in pod.status.conditions
    if c.type == 'Ready' && c.status == 'True'
  ]) > 0;

local newPod(spec, name) = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: name, labels: spec.template.metadata.labels { 'pod-name': name } },
  spec: spec.template.spec {
    hostname: name,
    subdomain: spec.serviceName,
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data-%s' % name } }],
  },
};

local newClaim(spec, name) = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: name },
  spec: spec.claim,
};

function(request)
  local spec = request.parent.spec;
  local pods = request.children['Pod.v1'];
  local names = ['%s-%d' % [request.parent.metadata.name, i] for i in std.range(0, spec.replicas - 1)];
  // The first that is not ready is the last that is made.
  local ready = std.foldl(
    function(n, name) if n.open && isReady(std.get(pods, name)) then n { count+: 1 } else n { open: false },
    names,
    { open: true, count: 0 }
  ).count;
  local made = names[0:ready + 1];
  local claims = { ['data-%s' % name]: newClaim(spec, 'data-%s' % name) for name in made }
                 + request.children['PersistentVolumeClaim.v1'];
  {
    status: { replicas: std.length(pods), readyReplicas: ready },
    children: [newPod(spec, name) for name in made] + std.objectValues(claims),
  }
