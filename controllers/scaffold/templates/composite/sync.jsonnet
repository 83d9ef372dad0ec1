local libretto = import 'libretto';

local newDeployment(name, spec) = {
  local labels = { app: name },
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: name, labels: labels },
  spec: {
    replicas: spec.replicas,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels: labels },
      spec: { containers: [{ name: 'app', image: spec.image, ports: [{ containerPort: spec.port }] }] },
    },
  },
};

local newService(name, spec) = {
  local labels = { app: name },
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: name, labels: labels },
  spec: { selector: labels, ports: [{ port: 80, targetPort: spec.port }] },
};

// This function is called whenever {{.Article}} {{.Kind}} or one of its children has changed. It gets what is there, and answers
// with what should be there: the whole status and all children. The host does the difference.
function(request) {
  local parent = request.parent,
  local name = parent.metadata.name,
  local deployments = libretto.objectsOf(request.children, 'apps/v1', 'Deployment'),

  status: { readyReplicas: std.sum([std.get(std.get(d, 'status', {}), 'readyReplicas', 0) for d in deployments]) },
  children: [newDeployment(name, parent.spec), newService(name, parent.spec)],
}
