local libretto = import 'libretto';

function(request)
  local parent = request.parent, spec = parent.spec;
  local named(group, name) = std.get(request.related[group], parent.metadata.namespace + '/' + name);
  local missing = [
    answer
    for answer in [
      libretto.needs(named('Secret.v1', spec.secret), 'Secret ' + spec.secret),
      libretto.needs(named('PersistentVolumeClaim.v1', spec.claim), 'claim ' + spec.claim),
    ]
    if answer != null
  ];
  local web = libretto.deployment({
    name: parent.metadata.name,
    podSpec: {
      containers: [{
        name: 'web',
        image: spec.image,
        ports: [8443],
        volumeMounts: [{ name: 'certificate', mountPath: '/certificate' }, { name: 'pages', mountPath: '/pages' }],
      }],
      volumes: [
        { name: 'certificate', secret: { secretName: spec.secret } },
        { name: 'pages', persistentVolumeClaim: { claimName: spec.claim } },
      ],
    },
  });

  if missing != [] then
    local why = missing[0].waiting;
    missing[0] { status: { conditions: [{ type: 'Ready', status: 'False', reason: why.reason, message: why.message }] } }
  else
    { status: { conditions: [libretto.readyCondition(request.children, [web], parent)] }, children: [web] }
