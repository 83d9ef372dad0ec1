// Package v1alpha1 is the API of Libretto: the definitions of controllers
// (CompositeController, DecoratorController, MapController) and the
// ControllerRevision that a rolling update leaves behind.
//
// Group, version, kinds and fields are those of metacontroller 4.17, so that a
// definition written for it is accepted as it stands and keeps its meaning. What
// metacontroller lacks is added as optional fields: script hooks, apply
// strategies, the pace of rolling updates, MapController and status.
//
// The CustomResourceDefinitions in manifests/crd, the reference in
// docs/reference/api.md and the deep copies are generated from these types by
// tools/generate.sh. A combination of fields that can't work is refused by the
// API server itself, by the rules that stand beside the fields. Where an absent
// field has a default, a method of the type gives the value in force.
//
// +kubebuilder:object:generate=true
// +groupName=metacontroller.k8s.io
package v1alpha1
