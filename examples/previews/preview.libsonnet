// The objects of one preview, and where it is seen.
{
  name(set, preview):: set.metadata.name + '-' + preview.name,
  host(set, preview):: self.name(set, preview) + '.' + set.spec.domain,

  objects(set, preview)::
    local name = self.name(set, preview);
    local labels = { preview: name };
    [
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: name },
        spec: {
          selector: { matchLabels: labels },
          template: {
            metadata: { labels: labels },
            spec: {
              securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
              containers: [{
                name: 'app',
                image: set.spec.image + ':' + preview.tag,
                securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
                ports: [{ name: 'http', containerPort: 8080 }],
              }],
            },
          },
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: name },
        spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
      },
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'Ingress',
        metadata: { name: name },
        spec: {
          rules: [{
            host: $.host(set, preview),
            http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: name, port: { name: 'http' } } } }] },
          }],
        },
      },
    ],
}
