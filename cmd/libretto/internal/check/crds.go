package check

import (
	"github.com/libretto-k8s/libretto/controllers/manifest"
)

// checkCRD reports what the API server would refuse in a CustomResourceDefinition, and that was not found when it was read.
func (r *run) checkCRD(crd *manifest.CRD) error {
	errs, err := crd.Check()
	for _, problem := range errs {
		r.add(Finding{
			Severity: Error, Reason: reasonInvalid, Location: crd.Place(problem.Field), Object: manifest.Name(crd.Object),
			Message: problem.Field + ": " + problem.Detail,
		})
	}
	return err
}
