// Package contract tests the interface for authors of hooks: the types of requests and responses against
// those that the program sends and accepts, and the module "libretto" of each language against the others.
package contract
