export function finalize({attachments}) {
  const left = Object.values(attachments).flatMap(group => Object.values(group));
  return {attachments: [], finalized: left.length === 0, resyncAfterSeconds: 2.5};
}
