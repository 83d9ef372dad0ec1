package validation

import (
	"encoding/base64"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	v1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// contentRules return what is wrong with an object of a kind, besides its metadata and the Pods that it makes.
var contentRules = map[string]func(object map[string]any) field.ErrorList{
	"ConfigMap":             validateData,
	"Secret":                validateData,
	"Service":               validateService,
	"PersistentVolumeClaim": validateClaim,
	"CronJob":               validateCronJob,
	"Pod":                   validatePod,
}

// counts are the fields that hold a number which isn't negative.
var counts = map[string][]string{
	"DaemonSet":   {"spec.minReadySeconds"},
	"Deployment":  {"spec.replicas", "spec.minReadySeconds"},
	"Job":         {"spec.parallelism", "spec.completions", "spec.backoffLimit"},
	"ReplicaSet":  {"spec.replicas", "spec.minReadySeconds"},
	"StatefulSet": {"spec.replicas", "spec.minReadySeconds"},
}

func validateCounts(kind string, object *unstructured.Unstructured) field.ErrorList {
	var errs field.ErrorList
	for _, name := range counts[kind] {
		value := nested(object, name)
		if n, ok := jsonvalue.Integer(value); ok && n < 0 {
			errs = append(errs, field.Invalid(field.NewPath(name), n, "must be greater than or equal to 0"))
		}
	}
	return errs
}

func validatePod(object map[string]any) field.ErrorList {
	return validatePodSpec(object["spec"], field.NewPath("spec"))
}

// validateData returns what is wrong with the keys of a ConfigMap or a Secret, and that it is too large.
func validateData(object map[string]any) field.ErrorList {
	var errs field.ErrorList
	size := 0
	data, binary := jsonvalue.ObjectIn(object, "data"), jsonvalue.ObjectIn(object, "binaryData")
	isEncoded := object["kind"] == "Secret"
	for _, name := range []string{"data", "binaryData", "stringData"} {
		for key, value := range jsonvalue.ObjectIn(object, name) {
			here := field.NewPath(name).Key(key)
			for _, problem := range validation.IsConfigMapKey(key) {
				errs = append(errs, field.Invalid(here, key, problem))
			}
			if _, twice := data[key]; twice && name == "binaryData" && binary != nil {
				errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
			}
			text, _ := value.(string)
			if name == "binaryData" || name == "data" && isEncoded {
				size += base64.StdEncoding.DecodedLen(len(text)) - 2 // At most two bytes are padding.
			} else {
				size += len(text)
			}
		}
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(field.NewPath("data"), "", corev1.MaxSecretSize))
	}
	return errs
}

// validateService returns what is wrong with the ports and the selector of a Service.
func validateService(object map[string]any) field.ErrorList {
	spec, at := jsonvalue.ObjectIn(object, "spec"), field.NewPath("spec")
	ports := listOf(spec["ports"])
	var errs field.ErrorList
	if len(ports) == 0 && spec["clusterIP"] != corev1.ClusterIPNone && spec["type"] != string(corev1.ServiceTypeExternalName) {
		errs = append(errs, field.Required(at.Child("ports"), ""))
	}
	names := map[string]bool{}
	for i, item := range ports {
		port, here := jsonvalue.AsObject(item), at.Child("ports").Index(i)
		name := textIn(port, "name")
		if name != "" || len(ports) > 1 {
			errs = append(errs, required(name, here.Child("name"), isDNSLabel)...)
		}
		if names[name] && name != "" {
			errs = append(errs, field.Duplicate(here.Child("name"), name))
		}
		names[name] = true
		errs = append(errs, validatePort(port, "port", here)...)
		errs = append(errs, oneOf(port, "protocol", here, protocols)...)
	}
	errs = append(errs, v1validation.ValidateLabels(textsIn(spec, "selector"), at.Child("selector"))...)
	return append(errs, oneOf(spec, "type", at, serviceTypes)...)
}

var serviceTypes = []string{
	string(corev1.ServiceTypeClusterIP), string(corev1.ServiceTypeNodePort), string(corev1.ServiceTypeLoadBalancer),
	string(corev1.ServiceTypeExternalName),
}

// validateClaim returns what a PersistentVolumeClaim lacks.
func validateClaim(object map[string]any) field.ErrorList {
	spec, at := jsonvalue.ObjectIn(object, "spec"), field.NewPath("spec")
	var errs field.ErrorList
	if len(listOf(spec["accessModes"])) == 0 {
		errs = append(errs, field.Required(at.Child("accessModes"), "at least 1 access mode is required"))
	}
	if requests := jsonvalue.ObjectIn(jsonvalue.ObjectIn(spec, "resources"), "requests"); requests["storage"] == nil {
		errs = append(errs, field.Required(at.Child("resources").Key("storage"), ""))
	}
	return errs
}

func validateCronJob(object map[string]any) field.ErrorList {
	return required(textIn(jsonvalue.ObjectIn(object, "spec"), "schedule"), field.NewPath("spec", "schedule"), nil)
}
