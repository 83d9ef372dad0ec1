local libretto = import 'libretto';

function(request)
  local spec = request.parent.spec;
  local copies = std.length(libretto.objectsOf(request.children, 'v1', 'Secret'));
  local source = std.get(request.related['Secret.v1'], 'shared/' + spec.secret);
  local missing = libretto.needs(source, 'Secret shared/' + spec.secret);

  if missing != null then
    missing { status: { copies: copies } }
  else
    local data = std.get(source, 'data', {});
    local keys = std.get(spec, 'keys', { [key]: key for key in std.objectFields(data) });
    local absent = [key for key in std.objectFields(keys) if !std.objectHas(data, key)];
    if absent != [] then
      libretto.waiting('KeyMissing', 'Secret shared/%s has no key %s' % [spec.secret, std.join(', ', absent)])
      { status: { copies: copies } }
    else {
      status: { copies: copies },
      children: [
        {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { namespace: namespace, name: spec.secret },
          type: if std.objectHas(spec, 'keys') then 'Opaque' else source.type, // a type prescribes keys
          data: { [keys[key]]: data[key] for key in std.objectFields(keys) },
        }
        for namespace in spec.namespaces
      ],
    }
