// What the components have in common: containers, Pods, Deployments and Services.

local flags = import 'flags.libsonnet';
local health = import 'health.libsonnet';

local probe(path, port) = { httpGet: { path: path, port: port } };

{
  // The user of the images of Vitess.
  securityContext:: { runAsNonRoot: true, runAsUser: 999, runAsGroup: 999, fsGroup: 999 },

  // container runs a program with flags. The template (spec.template of every parent) has its image, flags that
  // are added and its resources. A program of Vitess is an image of Vitess, unless the template has one for it alone.
  container(program, template, flagsOf)::
    local of(field) = std.get(std.get(template, field, {}), program);
    local image = of('images');
    local added = of('flags');
    local resources = of('resources');
    {
      name: program,
      image: if image == null then template.images.vitess else image,
      command: [program],
      args: flags.args(flagsOf + (if added == null then {} else added)),
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      [if resources != null then 'resources']: resources,
    },

  // web adds the port for browsers, and the probes that it answers.
  web(ready='/debug/health'):: {
    ports+: [{ name: 'web', containerPort: flags.ports.web }],
    readinessProbe: probe(ready, 'web'),
    livenessProbe: probe('/debug/status', 'web') + { initialDelaySeconds: 300 },
  },

  ports(names):: { ports+: [{ name: name, containerPort: flags.ports[name] } for name in names] },

  inZone(zone):: if zone == null then {} else { nodeSelector+: { 'topology.kubernetes.io/zone': zone } },

  deployment(name, labels, replicas, podSpec):: health.stamped({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: name, labels: labels },
    spec: {
      replicas: replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels: labels },
        spec: { securityContext: $.securityContext } + podSpec,
      },
    },
  }),

  service(name, labels, ports, spec={}):: {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: name, labels: labels },
    spec: {
      selector: labels,
      ports: [{ name: port, port: ports[port], targetPort: port } for port in std.objectFields(ports)],
    } + spec,
  },

  // custom is an object of this operator.
  custom(apiVersion, kind, name, labels, spec):: health.stamped({
    apiVersion: apiVersion,
    kind: kind,
    metadata: { name: name, labels: labels },
    spec: spec,
  }),
}
