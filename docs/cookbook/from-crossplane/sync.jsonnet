local libretto = import 'libretto';

local storage = { small: '1Gi', large: '20Gi' };

function(request)
  local parent = request.parent, name = parent.metadata.name;
  local children = [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: name },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: storage[parent.spec.size] } } },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: name },
      spec: {
        serviceName: name,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: {
            containers: [{ name: 'redis', image: 'redis:8', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
            volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
          },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: name },
      spec: { selector: { app: name }, ports: [{ port: 6379 }] },
    },
  ];
  {
    status: {
      host: '%s.%s.svc' % [name, parent.metadata.namespace],
      conditions: [libretto.readyCondition(request.children, children, parent)],
    },
    children: children,
  }
