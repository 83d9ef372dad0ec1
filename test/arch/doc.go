// Package arch keeps the shape of the code: which package may import which, what
// packages may be called, and that each says what it is for. It holds tests alone.
// The shape itself is described in docs/design; a rule that the code has outgrown is
// changed here and there together.
package arch
