package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Validate returns what is wrong with an object as far as the rules here tell: names, fields that must not
// change, selectors, Pods, and what else controllers get wrong. The API server has more rules. What is not sure in all its versions is
// no rule here.
func (b builtIn) Validate(object, old *unstructured.Unstructured) field.ErrorList {
	return b.validate(object, object, old)
}

// validate is Validate with the metadata of the object, which is faster to read if it is typed.
func (b builtIn) validate(metadata metav1.Object, object, old *unstructured.Unstructured) field.ErrorList {
	at := field.NewPath("metadata")
	if old != nil {
		errs := apivalidation.ValidateObjectMetaAccessorUpdate(metadata, old, at)
		errs = append(errs, withoutErrorsOf(b.validateContent(object), func() field.ErrorList { return b.validateContent(old) })...)
		return append(errs, b.validateChange(object, old)...)
	}
	errs := apivalidation.ValidateObjectMetaAccessor(metadata, b.namespaced, b.nameRule(), at)
	if name := metadata.GetName(); b.kind.Kind == "CronJob" && len(name) > maxCronJobName {
		errs = append(errs, field.Invalid(at.Child("name"), name, fmt.Sprintf("must be no more than %d characters", maxCronJobName)))
	}
	return append(errs, b.validateContent(object)...)
}

// maxCronJobName leaves room for what is added for the names of Jobs.
const maxCronJobName = 52

// validateContent returns what is wrong with the rest of an object, whatever it replaces.
func (b builtIn) validateContent(object *unstructured.Unstructured) field.ErrorList {
	errs := b.validateTemplate(object)
	if rule := contentRules[b.kind.Kind]; rule != nil {
		errs = append(errs, rule(object.Object)...)
	}
	return append(errs, validateCounts(b.kind.Kind, object)...)
}

// withoutErrorsOf returns the errors that an object did not have before: the API server may tolerate what is stored.
func withoutErrorsOf(errs field.ErrorList, before func() field.ErrorList) field.ErrorList {
	if len(errs) == 0 {
		return nil
	}
	was := before()
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		return slices.ContainsFunc(was, func(other *field.Error) bool { return other.Field == err.Field && other.Type == err.Type })
	})
}

// ValidateStatus returns what is wrong with the metadata: the rules here know nothing of status.
func (b builtIn) ValidateStatus(object, old *unstructured.Unstructured) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessorUpdate(object, old, field.NewPath("metadata"))
}

// Names of these kinds are subdomains or labels of DNS. Those of others must be fit for a URL, and no more is known of them.
var (
	subdomainNames = []string{
		"ConfigMap", "ControllerRevision", "CronJob", "DaemonSet", "Deployment", "EndpointSlice", "Endpoints", "HorizontalPodAutoscaler",
		"Ingress", "IngressClass", "Job", "Lease", "LimitRange", "NetworkPolicy", "Node", "PersistentVolume", "PersistentVolumeClaim",
		"Pod", "PodTemplate",
		"PriorityClass", "ReplicaSet", "ReplicationController", "ResourceQuota", "Secret", "ServiceAccount", "StorageClass",
	}
	labelNames = []string{"Namespace", "Service", "StatefulSet"}
)

func (b builtIn) nameRule() apivalidation.ValidateNameFunc {
	switch {
	case slices.Contains(labelNames, b.kind.Kind):
		return apivalidation.NameIsDNSLabel
	case slices.Contains(subdomainNames, b.kind.Kind):
		return apivalidation.NameIsDNSSubdomain
	default:
		return isPathSegment
	}
}

// isPathSegment returns why a name cannot be a part of an URL.
func isPathSegment(name string, _ bool) []string {
	return content.IsPathSegmentName(name)
}

// validateTemplate returns what is wrong with the Pods that an object makes, and with how it selects them.
func (b builtIn) validateTemplate(object *unstructured.Unstructured) field.ErrorList {
	name, ok := templated[b.kind.Kind]
	if !ok {
		return nil
	}
	at := field.NewPath(name)
	value := nested(object, name)
	template, _ := value.(map[string]any)
	claims := nested(object, "spec.volumeClaimTemplates")
	errs := append(validateTemplateMetadata(template, at), validatePodSpec(template["spec"], at.Child("spec"), listOf(claims)...)...)
	policy := textIn(jsonvalue.ObjectIn(template, "spec"), "restartPolicy")
	switch {
	case !isJob(b.kind.Kind) && policy != "" && policy != "Always":
		errs = append(errs, field.NotSupported(at.Child("spec", "restartPolicy"), policy, []string{"Always"}))
	case isJob(b.kind.Kind) && policy != "OnFailure" && policy != "Never":
		errs = append(errs, field.Required(at.Child("spec", "restartPolicy"), `valid values: "OnFailure", "Never"`))
	}
	if isJob(b.kind.Kind) {
		return errs
	}
	return append(errs, validateSelector(object, template, at)...)
}

func validateSelector(object *unstructured.Unstructured, template map[string]any, at *field.Path) field.ErrorList {
	given := nested(object, "spec.selector")
	fields, ok := given.(map[string]any)
	has, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
	mismatch := field.Invalid(at.Child("metadata", "labels"), has, "`selector` does not match template `labels`")
	if !ok {
		return field.ErrorList{field.Required(field.NewPath("spec", "selector"), ""), mismatch}
	}
	var wanted metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &wanted); err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "selector"), given, err.Error())}
	}
	selector, err := metav1.LabelSelectorAsSelector(&wanted)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "selector"), given, err.Error())}
	}
	if selector.Empty() || !selector.Matches(labels.Set(has)) {
		return field.ErrorList{mismatch}
	}
	return nil
}

// nested returns the value at a dotted path, or nil.
func nested(object *unstructured.Unstructured, dotted string) any {
	value, found, err := unstructured.NestedFieldNoCopy(object.Object, strings.Split(dotted, ".")...)
	if !found || err != nil {
		return nil
	}
	return value
}
