// Package chart tests the Helm chart in manifests/helm/libretto with Helm's own library. It is a module of its own, so that neither the
// program nor the tools link Helm.
package chart
