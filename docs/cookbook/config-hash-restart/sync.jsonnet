local libretto = import 'libretto';

function(request)
  local parent = request.parent, spec = parent.spec;
  local settings = libretto.objectsOf(request.related, 'v1', 'ConfigMap');
  local secrets = libretto.objectsOf(request.related, 'v1', 'Secret');
  local data(object) = std.get(object, 'data', {});

  if settings == [] then libretto.waiting('NotFound', 'there is no ConfigMap ' + spec.settings)
  else if secrets == [] then libretto.waiting('NotFound', 'there is no Secret ' + spec.secret)
  else {
    children: [
      libretto.deployment({
        name: parent.metadata.name,
        podAnnotations: { 'example.com/settings': libretto.hash([data(settings[0]), data(secrets[0])]) },
        podSpec: {
          containers: [{
            name: 'worker',
            image: spec.image,
            envFrom: [{ configMapRef: { name: spec.settings } }, { secretRef: { name: spec.secret } }],
          }],
        },
      }),
    ],
  }
