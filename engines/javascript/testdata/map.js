export function map({parent, input}) {
  const data = input.data ?? {};
  return {
    outputs: [{
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {name: `${parent.metadata.name}-${input.metadata.name}`},
      data: {
        of: input.metadata.name,
        keys: Object.keys(data).sort().join(' '),
        characters: String(Object.values(data).reduce((sum, value) => sum + value.length, 0)),
      },
    }],
  };
}
