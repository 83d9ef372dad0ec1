// What the components have in common: containers, Pods, Deployments and Services.

local flags = import 'flags.libsonnet';
local health = import 'health.libsonnet';
local libretto = import 'libretto';
local names = import 'names.libsonnet';

local probe(path) = { httpGet: { path: path, port: 'web' } };

// of is the part of a template for a program.
local of(template, field, program, default) = std.get(std.get(template, field, {}), program, default);

{
  // container runs a program with flags. The template (spec.template of every parent) has its image, flags that
  // are added and its resources. A program of Vitess is an image of Vitess, unless the template has one for it alone.
  container(program, template, given):: {
    name: program,
    image: of(template, 'images', program, template.images.vitess),
    command: [program],
    args: flags.args(given + of(template, 'flags', program, {})),
    resources: of(template, 'resources', program, {}),
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  },

  // web adds the port for browsers, and the probes that it answers.
  web(ready='/debug/health'):: {
    ports+: [{ name: 'web', containerPort: flags.ports.web }],
    readinessProbe: probe(ready),
    livenessProbe: probe('/debug/status') + { initialDelaySeconds: 300 },
  },

  ports(names):: { ports+: [{ name: name, containerPort: flags.ports[name] } for name in names] },

  // podSpec adds what all Pods have. The user is that of the images of Vitess, which refuse to run as root.
  podSpec(spec, zone=null):: {
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 999,
      runAsGroup: 999,
      fsGroup: 999,
      seccompProfile: { type: 'RuntimeDefault' },
    },
  } + spec + if zone == null then {} else { nodeSelector: { [names.zone]: zone } },

  deployment(name, labels, replicas, podSpec):: health.stamped(libretto.deployment({
    name: name,
    labels: labels,
    selector: labels,
    replicas: replicas,
    podSpec: podSpec,
  })),

  // service leads to Pods. Ports are numbers by name, and the Pods have ports of these names.
  service(name, labels, ports, spec={}):: libretto.service({
    name: name,
    labels: labels,
    selector: labels,
    ports: [{ name: port, port: ports[port], targetPort: port } for port in std.objectFields(ports)],
    spec: spec,
  }),

  // custom is an object of this operator.
  custom(kind, name, labels, spec):: health.stamped({
    apiVersion: names.apiVersion,
    kind: kind,
    metadata: { name: name, labels: labels },
    spec: spec,
  }),
}
