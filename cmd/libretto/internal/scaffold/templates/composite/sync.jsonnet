local libretto = import 'libretto';

// This function is called whenever {{.Article}} {{.Kind}} or one of its children has changed. It gets what is there, and answers
// with what should be there: the whole status and all children. The host does the difference.
function(request) {
  local name = request.parent.metadata.name,
  local spec = request.parent.spec,
  local deployments = libretto.objectsOf(request.children, 'apps/v1', 'Deployment'),

  status: { readyReplicas: std.sum([std.get(std.get(d, 'status', {}), 'readyReplicas', 0) for d in deployments]) },
  children: [
    libretto.deployment({
      name: name,
      replicas: spec.replicas,
      podSpec: { containers: [{ name: 'app', image: spec.image, ports: [spec.port] }] },
    }),
    libretto.service({ name: name, ports: [{ port: 80, targetPort: spec.port }] }),
  ],
}
