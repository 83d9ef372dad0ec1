interface KubeObject {
  metadata: { name: string; labels?: Record<string, string> };
  status?: { conditions: { type: string; status: string }[] };
  [field: string]: unknown;
}

const isReady = (pod?: KubeObject): boolean =>
  pod?.status?.conditions.some((c) => c.type === 'Ready' && c.status === 'True') ?? false;

const newPod = (spec: any, name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { ...spec.template.metadata.labels, 'pod-name': name } },
  spec: {
    ...spec.template.spec,
    hostname: name,
    subdomain: spec.serviceName,
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: `data-${name}` } }],
  },
});

const newClaim = (spec: any, name: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: spec.claim,
});

export function sync({ parent, children }: any) {
  const { spec, metadata } = parent;
  const pods: Record<string, KubeObject> = children['Pod.v1'];
  const desired: unknown[] = [];
  const claims: Record<string, unknown> = {};
  let readyReplicas = 0;
  for (let ordinal = 0; ordinal < spec.replicas; ordinal++) {
    const name = `${metadata.name}-${ordinal}`;
    desired.push(newPod(spec, name));
    claims[`data-${name}`] = newClaim(spec, `data-${name}`);
    if (!isReady(pods[name])) break;
    readyReplicas++;
  }
  Object.assign(claims, children['PersistentVolumeClaim.v1']);
  for (const name of Object.keys(claims).sort()) desired.push(claims[name]);
  return { status: { replicas: Object.keys(pods).length, readyReplicas }, children: desired };
}
