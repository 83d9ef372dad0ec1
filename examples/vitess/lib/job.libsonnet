// One-off commands: vtctldclient on the topology server.

local flags = import 'flags.libsonnet';
local libretto = import 'libretto';
local workloads = import 'workloads.libsonnet';

{
  // job runs commands one after another, each a list of arguments. Its name changes with them, and only with them:
  // a new command is a new Job, and a new image is no reason to run it again. Commands have to be repeatable.
  job(prefix, labels, topology, template, commands)::
    local container(i) = workloads.container('vtctldclient', template, flags.vtctldclient(topology)) {
      name: 'step-%d' % (i + 1),
      args+: commands[i],
    };
    local last = std.length(commands) - 1;
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: '%s-%s' % [prefix, libretto.hash(commands)[0:8]], labels: labels },
      spec: {
        backoffLimit: 20,
        template: {
          metadata: { labels: labels },
          spec: {
            restartPolicy: 'OnFailure',
            securityContext: workloads.securityContext,
            [if last > 0 then 'initContainers']: [container(i) for i in std.range(0, last - 1)],
            containers: [container(last)],
          },
        },
      },
    },

  // undo is a Job that gives up after two minutes, for when the topology server does not come back.
  undo(prefix, labels, topology, template, commands)::
    self.job(prefix, labels, topology, template, commands) { spec+: { activeDeadlineSeconds: 120 } },
}
