local house = import 'lib/house.libsonnet';

function(request) {
  local parent = request.parent,
  local labels = house.labels(parent),
  local podSpec = house.podSpec(parent, request.parameters.registry) { restartPolicy: 'Never' },
  children: [{
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: parent.metadata.name, labels: labels },
    spec: { schedule: parent.spec.schedule, jobTemplate: { spec: { template: { metadata: { labels: labels }, spec: podSpec } } } },
  }],
}
