// WebApp: a Deployment, a Service, and an Ingress if one is wanted.

// The Deployment says which generation of the WebApp it was made from. Until it is the present one, its status is about an old spec.
local madeFrom = 'ctl.example.com/generation';

local condition(type, status, reason, message) = { type: type, status: if status then 'True' else 'False', reason: reason, message: message };

local readyCondition(app, live) =
  local status = { observedGeneration: 0, replicas: 0, updatedReplicas: 0, availableReplicas: 0 } + std.get(live, 'status', {});
  local wanted = app.spec.replicas;
  local rolledOut = live != {} && std.get(std.get(live.metadata, 'annotations', {}), madeFrom) == '%d' % app.metadata.generation
                    && status.observedGeneration == live.metadata.generation
                    && status.updatedReplicas == wanted && status.replicas == status.updatedReplicas;
  if !rolledOut then
    condition('Ready', false, 'RollingOut', '%d of %d replicas are up to date' % [status.updatedReplicas, wanted])
  else if status.availableReplicas < wanted then
    condition('Ready', false, 'ReplicasUnavailable', '%d of %d replicas are available' % [status.availableReplicas, wanted])
  else
    condition('Ready', true, 'AllReplicasAvailable', '%d of %d replicas are available' % [wanted, wanted]);

local exposedCondition(live) =
  local balancer = std.get(std.get(live, 'status', {}), 'loadBalancer', {});
  if std.length(std.get(balancer, 'ingress', [])) > 0 then
    condition('Exposed', true, 'AddressAssigned', 'the Ingress has an address')
  else
    condition('Exposed', false, 'NoAddress', 'no ingress controller has given the Ingress an address yet');

local deployment(app) = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: app.metadata.name, annotations: { [madeFrom]: '%d' % app.metadata.generation } },
  spec: {
    replicas: app.spec.replicas,
    selector: { matchLabels: { app: app.metadata.name } },
    template: {
      metadata: { labels: { app: app.metadata.name } },
      spec: {
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [{
          name: 'app',
          image: app.spec.image,
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          ports: [{ name: 'http', containerPort: app.spec.port }],
          readinessProbe: { httpGet: { path: '/', port: 'http' } },
        }],
      },
    },
  },
};

local service(app) = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: app.metadata.name },
  spec: { selector: { app: app.metadata.name }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
};

local ingress(app, wanted) = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name: app.metadata.name },
  spec: {
    [if 'className' in wanted then 'ingressClassName']: wanted.className,
    [if 'tlsSecretName' in wanted then 'tls']: [{ hosts: [wanted.host], secretName: wanted.tlsSecretName }],
    rules: [{
      host: wanted.host,
      http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: app.metadata.name, port: { name: 'http' } } } }] },
    }],
  },
};

function(request)
  local app = request.parent;
  local observed(group) = std.get(request.children[group], '%(namespace)s/%(name)s' % app.metadata, {});
  local live = observed('Deployment.apps/v1');
  local status = { replicas: 0, readyReplicas: 0 } + std.get(live, 'status', {});
  local common = {
    status: { replicas: status.replicas, readyReplicas: status.readyReplicas, conditions: [readyCondition(app, live)] },
    children: [deployment(app), service(app)],
  };
  if 'ingress' in app.spec then
    common {
      local scheme = if 'tlsSecretName' in app.spec.ingress then 'https' else 'http',
      status+: { url: '%s://%s/' % [scheme, app.spec.ingress.host], conditions+: [exposedCondition(observed('Ingress.networking.k8s.io/v1'))] },
      children+: [ingress(app, app.spec.ingress)],
    }
  else common
