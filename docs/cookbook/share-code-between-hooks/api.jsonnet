local house = import 'lib/house.libsonnet';

function(request) {
  local parent = request.parent,
  local labels = house.labels(parent),
  children: [{
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: parent.metadata.name, labels: labels },
    spec: {
      selector: { matchLabels: { app: labels.app } },
      template: { metadata: { labels: labels }, spec: house.podSpec(parent, request.parameters.registry) },
    },
  }],
}
