// SecretPropagation: a Secret of the namespace shared-secrets is copied to all namespaces that a selector matches.
local libretto = import 'libretto';

local sourceNamespace = 'shared-secrets';

local newCopy(source, namespace) = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: source.metadata.name, namespace: namespace },
  type: source.type,
  data: std.get(source, 'data', {}),
};

local ready(status, reason, message) = [{ type: 'Ready', status: status, reason: reason, message: message }];

{
  // customize says which objects sync wants to see, beside the Secret that the parent names: sync is called again when one of them changes.
  customize(request):: {
    relatedResources: [{ apiVersion: 'v1', resource: 'namespaces', labelSelector: request.parent.spec.namespaceSelector }],
  },

  sync(request)::
    local copies = libretto.objectsOf(request.children, 'v1', 'Secret');
    local sources = libretto.objectsOf(request.related, 'v1', 'Secret');
    local name = request.parent.spec.secretName;

    if sources == [] then
      local message = 'there is no Secret %s/%s: its copies stay as they are' % [sourceNamespace, name];
      libretto.waiting('SourceMissing', message) {
        status: { copies: std.length(copies), conditions: ready('False', 'SourceMissing', message) },
      }
    else
      local source = sources[0];
      local namespaces = [
        namespace.metadata.name
        for namespace in libretto.objectsOf(request.related, 'v1', 'Namespace')
        if namespace.metadata.name != sourceNamespace && !std.objectHas(namespace.metadata, 'deletionTimestamp')
      ];
      // The type of a Secret can't change. A copy of another type is left out: it goes, and is created anew.
      local stale = [copy.metadata.namespace for copy in copies if copy.type != source.type];
      local missing = std.setDiff(std.set(namespaces), std.set([copy.metadata.namespace for copy in copies]));
      {
        children: [newCopy(source, namespace) for namespace in namespaces if !std.member(stale, namespace)],
        status: {
          copies: std.length(copies),
          conditions:
            if missing == []
            then ready('True', 'Copied', '%d namespaces have a copy' % std.length(namespaces))
            else ready('False', 'CopiesMissing', 'no copy yet in: ' + std.join(', ', missing)),
        },
      },
}
