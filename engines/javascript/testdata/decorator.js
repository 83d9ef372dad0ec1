const annotation = 'ctl.example.com/pod-services';

export function sync({object}) {
  const ports = object.metadata.annotations[annotation].split(',').map(Number).map(port => ({name: `port-${port}`, port}));
  const first = object.spec.ordinals?.start ?? 0;
  const names = Array.from({length: object.spec.replicas}, (_, i) => `${object.metadata.name}-${first + i}`);
  return {
    labels: {'pod-services': String(ports.length), old: null},
    attachments: names.map(name => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {name},
      spec: {selector: {'statefulset.kubernetes.io/pod-name': name}, ports},
    })),
  };
}
