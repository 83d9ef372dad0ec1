// Package rollout decides how an edit of a definition or of its scripts reaches the parents. It is pure: its callers know the parents,
// store the state in the status of the definition, and act on what is stored there. A host obeys it, and the commands that tell what a
// host will do.
//
//   - A Rule holds an edit because of the Findings of a preview.
//   - Next says which step comes next, and an Assignment which revision a parent has until then.
//   - Progress is how far a rollout is, and the condition Progressing how that is said.
//   - A Guard bounds what an edit deletes, whatever its preview has found.
package rollout
