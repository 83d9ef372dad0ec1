// Package contract holds what authors of hooks are told against what the program does: the
// types of requests and responses against those that are sent and taken, and the module
// "libretto" in one language against the other.
package contract
