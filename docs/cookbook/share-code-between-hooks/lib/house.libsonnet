// How Pods of the house are.
{
  labels(parent):: { app: parent.metadata.name, team: parent.spec.team },

  // image puts the registry of the house before an image without one, whose first part has neither a dot nor a port.
  image(name, registry)::
    local parts = std.splitLimit(name, '/', 1);
    if std.length(parts) > 1 && (std.member(parts[0], '.') || std.member(parts[0], ':')) then name else registry + '/' + name,

  podSpec(parent, registry):: {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [{
      name: 'main',
      image: $.image(parent.spec.image, registry),
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    }],
  },
}
