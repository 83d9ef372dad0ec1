// Package migration tests bin/libretto as a process that takes a cluster over from metacontroller: objects are written
// as metacontroller 4.17 leaves them (sections 0 and 3 of the specification), and then libretto is started.
package migration
