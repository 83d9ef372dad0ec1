package check

import (
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/crd"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines"
)

// checkCRD reports that a CustomResourceDefinition is not what its short schema says, and what the API server would refuse in it and was
// not found when it was read.
func (r *run) checkCRD(object *manifest.CRD) error {
	if outdated := crd.Outdated(object.Location); outdated != "" {
		at := engines.Location{File: object.Location.File, Line: 1}
		r.add(Finding{Severity: Warning, Reason: reasonOutdatedCRD, Location: at, Object: manifest.Name(object.Object), Message: outdated})
	}
	errs, err := object.Check()
	for _, problem := range errs {
		r.add(Finding{
			Severity: Error, Reason: reasonInvalid, Location: object.Place(problem.Field), Object: manifest.Name(object.Object),
			Message: problem.Field + ": " + problem.Detail,
		})
	}
	return err
}
