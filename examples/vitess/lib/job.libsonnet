// One-off commands: vtctldclient on the topology server.

local flags = import 'flags.libsonnet';
local libretto = import 'libretto';
local workloads = import 'workloads.libsonnet';

{
  // job runs commands one after another, each a list of arguments. Its name changes with them, and only with them:
  // a new command is a new Job, and a new image is no reason to run it again. Commands have to be repeatable.
  job(prefix, labels, topology, template, commands, spec={})::
    local containers = [
      workloads.container('vtctldclient', template, flags.vtctldclient(topology)) {
        name: 'step-%d' % (i + 1),
        args+: commands[i],
      }
      for i in std.range(0, std.length(commands) - 1)
    ];
    local last = std.length(containers) - 1;
    libretto.job({
      name: libretto.hashedName(prefix, commands),
      labels: labels,
      podSpec: workloads.podSpec({
        restartPolicy: 'OnFailure',
        initContainers: containers[0:last],
        containers: [containers[last]],
      }),
      spec: { backoffLimit: 20 } + spec,
    }),

  // undo is a job that gives up soon, for when the topology server does not come back.
  undo(prefix, labels, topology, template, commands)::
    self.job(prefix, labels, topology, template, commands, { backoffLimit: 3, activeDeadlineSeconds: 120 }),
}
