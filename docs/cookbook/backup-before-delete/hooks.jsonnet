local libretto = import 'libretto';

// parts are the children of a Database.
local parts(parent) = {
  local name = parent.metadata.name,
  local mounts = [{ name: 'data', mountPath: '/data' }],
  local volumes = [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
  claim: {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: parent.spec.storage } } },
  },
  server: libretto.statefulSet({
    name: name,
    podSpec: { containers: [{ name: 'db', image: parent.spec.image, volumeMounts: mounts }], volumes: volumes },
  }),
  backup: libretto.job({
    name: libretto.childName(name, 'last-backup'),
    podSpec: { containers: [{ name: 'backup', image: 'ghcr.io/example/backup:1', args: [name], volumeMounts: mounts }], volumes: volumes },
  }),
};

local backedUp(status, reason, message='') = { type: 'BackedUp', status: status, reason: reason, message: message };

{
  sync(request)::
    local all = parts(request.parent), desired = [all.claim, all.server];
    { status: { conditions: [libretto.readyCondition(request.children, desired, request.parent)] }, children: desired },

  finalize(request)::
    local all = parts(request.parent);
    local server = libretto.findChild(request.children, all.server, request.parent);
    local backup = libretto.findChild(request.children, all.backup, request.parent);
    local failure = libretto.findCondition(backup, 'Failed');
    if !request.parent.spec.lastBackup || libretto.isConditionTrue(backup, 'Complete') then
      { children: [], finalized: true }
    else if server != null then
      { status: { conditions: [backedUp('False', 'Stopping')] }, children: [all.claim] }
    else {
      status: {
        conditions: [if failure == null then backedUp('False', 'InProgress') else backedUp('False', 'Failed', failure.message)],
      },
      children: [all.claim, all.backup],
    },
}
