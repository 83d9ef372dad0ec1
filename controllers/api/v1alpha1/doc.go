// Package v1alpha1 is the API of Libretto: the definitions of controllers
// (CompositeController, DecoratorController, MapController) and the
// ControllerRevision that stores the state of rolling updates.
//
// Group, version, kinds and fields are those of metacontroller 4.17, so that a
// definition written for it is accepted unchanged and keeps its meaning. Additions are
// optional fields: script hooks, apply strategies, limits of rolling updates,
// MapController and status.
//
// The CustomResourceDefinitions in manifests/crd, the reference in
// docs/reference/api.md and the deep copies are generated from these types by
// tools/generate.sh. The API server refuses combinations of fields that can't work, by the
// rules beside the fields. If a field has a default, a method of the type returns the
// value in use.
//
// +kubebuilder:object:generate=true
// +groupName=metacontroller.k8s.io
package v1alpha1
