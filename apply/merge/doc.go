// Package merge is dynamic apply's comparison of one object: a three-way merge of what is there,
// what was asked for last time (kept in an annotation on the object) and what is desired.
//
// Objects given to this package are shared with caches. They are never changed, and what the
// package returns shares parts with them and must not be changed either.
package merge
