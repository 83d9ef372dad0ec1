// Package arch tests the shape of the code: which package may import which, the names of
// packages, package comments, and the sections of the specification that comments cite.
// docs/design/shape.md describes the shape. Change a rule in both places.
package arch
