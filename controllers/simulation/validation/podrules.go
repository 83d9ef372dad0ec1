package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	v1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// templated are the fields of the kinds that make Pods.
var templated = map[string]string{
	"DaemonSet": "spec.template", "Deployment": "spec.template", "Job": "spec.template", "ReplicaSet": "spec.template",
	"StatefulSet": "spec.template", "CronJob": "spec.jobTemplate.spec.template",
}

// The values that fields may have. What is not given gets a default.
var (
	restartPolicies = []string{"Always", "OnFailure", "Never"}
	pullPolicies    = []string{"Always", "IfNotPresent", "Never"}
	protocols       = []string{"TCP", "UDP", "SCTP"}
)

// validateTemplateMetadata returns what is wrong with the labels and annotations of the Pods that an object makes.
func validateTemplateMetadata(template map[string]any, at *field.Path) field.ErrorList {
	metadata := jsonvalue.ObjectIn(template, "metadata")
	at = at.Child("metadata")
	return append(v1validation.ValidateLabels(textsIn(metadata, "labels"), at.Child("labels")),
		apivalidation.ValidateAnnotations(textsIn(metadata, "annotations"), at.Child("annotations"))...)
}

// validatePodSpec returns what is wrong with the volumes and containers of a Pod. claims are volumes that it has besides.
func validatePodSpec(value any, at *field.Path, claims ...any) field.ErrorList {
	spec := jsonvalue.AsObject(value)
	volumes, errs := validateVolumes(spec, at.Child("volumes"))
	for _, claim := range claims {
		volumes[textIn(jsonvalue.ObjectIn(jsonvalue.AsObject(claim), "metadata"), "name")] = true
	}
	if len(listOf(spec["containers"])) == 0 {
		errs = append(errs, field.Required(at.Child("containers"), ""))
	}
	seen := map[string]bool{}
	for _, list := range []string{"containers", "initContainers"} {
		for i, item := range listOf(spec[list]) {
			container, here := jsonvalue.AsObject(item), at.Child(list).Index(i)
			errs = append(errs, validateContainer(container, here)...)
			errs = append(errs, validateMounts(container, volumes, here.Child("volumeMounts"))...)
			name := textIn(container, "name")
			if seen[name] && name != "" {
				errs = append(errs, field.Duplicate(here.Child("name"), name))
			}
			seen[name] = true
		}
	}
	return append(errs, oneOf(spec, "restartPolicy", at, restartPolicies)...)
}

// validateVolumes returns the names of the volumes of a Pod, and what is wrong with them.
func validateVolumes(spec map[string]any, at *field.Path) (names map[string]bool, errs field.ErrorList) {
	names = map[string]bool{}
	for i, item := range listOf(spec["volumes"]) {
		name, here := textIn(jsonvalue.AsObject(item), "name"), at.Index(i).Child("name")
		errs = append(errs, required(name, here, isDNSLabel)...)
		if names[name] && name != "" {
			errs = append(errs, field.Duplicate(here, name))
		}
		names[name] = true
	}
	return names, errs
}

func validateContainer(container map[string]any, at *field.Path) field.ErrorList {
	errs := required(textIn(container, "name"), at.Child("name"), isDNSLabel)
	errs = append(errs, required(textIn(container, "image"), at.Child("image"), nil)...)
	for i, item := range listOf(container["env"]) {
		name, place := textIn(jsonvalue.AsObject(item), "name"), at.Child("env").Index(i).Child("name")
		errs = append(errs, required(name, place, validation.IsRelaxedEnvVarName)...)
	}
	names := map[string]bool{}
	for i, item := range listOf(container["ports"]) {
		port, here := jsonvalue.AsObject(item), at.Child("ports").Index(i)
		if name := textIn(port, "name"); name != "" {
			errs = append(errs, required(name, here.Child("name"), validation.IsValidPortName)...)
			if names[name] {
				errs = append(errs, field.Duplicate(here.Child("name"), name))
			}
			names[name] = true
		}
		errs = append(errs, validatePort(port, "containerPort", here)...)
		errs = append(errs, oneOf(port, "protocol", here, protocols)...)
	}
	errs = append(errs, validateResources(jsonvalue.ObjectIn(container, "resources"), at.Child("resources"))...)
	return append(errs, oneOf(container, "imagePullPolicy", at, pullPolicies)...)
}

// validateMounts returns the mounts of a container whose volume is neither in the Pod nor a claim, and those in the place of another.
func validateMounts(container map[string]any, volumes map[string]bool, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	paths := map[string]bool{}
	for i, item := range listOf(container["volumeMounts"]) {
		mount, here := jsonvalue.AsObject(item), at.Index(i)
		switch name := textIn(mount, "name"); {
		case name == "":
			errs = append(errs, field.Required(here.Child("name"), ""))
		case !volumes[name]:
			errs = append(errs, field.NotFound(here.Child("name"), name))
		}
		path := textIn(mount, "mountPath")
		errs = append(errs, required(path, here.Child("mountPath"), nil)...)
		if paths[path] && path != "" {
			errs = append(errs, field.Invalid(here.Child("mountPath"), path, "must be unique"))
		}
		paths[path] = true
	}
	return errs
}

// validateResources returns quantities below zero, and requests above their limits.
func validateResources(resources map[string]any, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	limits := jsonvalue.ObjectIn(resources, "limits")
	for _, of := range []string{"limits", "requests"} {
		for name, value := range jsonvalue.ObjectIn(resources, of) {
			quantity, ok := quantityOf(value)
			if !ok {
				continue
			}
			here := at.Child(of).Key(name)
			if quantity.Sign() < 0 {
				errs = append(errs, field.Invalid(here, value, "must be greater than or equal to 0"))
			}
			if limit, ok := quantityOf(limits[name]); ok && of == "requests" && quantity.Cmp(limit) > 0 {
				errs = append(errs, field.Invalid(at.Child(of), value, "must be less than or equal to "+name+" limit of "+limit.String()))
			}
		}
	}
	return errs
}

func quantityOf(value any) (resource.Quantity, bool) {
	text, ok := value.(string)
	if !ok {
		return resource.Quantity{}, false
	}
	quantity, err := resource.ParseQuantity(text)
	return quantity, err == nil
}

// validatePort returns what is wrong with a port that is required.
func validatePort(object map[string]any, name string, at *field.Path) field.ErrorList {
	port, ok := jsonvalue.Integer(object[name])
	if !ok && object[name] != nil {
		return nil // Its type is wrong.
	}
	if port == 0 && name == "containerPort" {
		return field.ErrorList{field.Required(at.Child(name), "")}
	}
	var errs field.ErrorList
	for _, problem := range validation.IsValidPortNum(int(port)) {
		errs = append(errs, field.Invalid(at.Child(name), port, problem))
	}
	return errs
}

// required returns why a text is missing or is not what valid asks for. valid may be nil.
func required(text string, at *field.Path, valid func(string) []string) field.ErrorList {
	if text == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	if valid == nil {
		return nil
	}
	var errs field.ErrorList
	for _, problem := range valid(text) {
		errs = append(errs, field.Invalid(at, text, problem))
	}
	return errs
}

// oneOf returns that a text is given and is none of those that are supported.
func oneOf(object map[string]any, name string, at *field.Path, supported []string) field.ErrorList {
	if text := textIn(object, name); text != "" && !slices.Contains(supported, text) {
		return field.ErrorList{field.NotSupported(at.Child(name), text, supported)}
	}
	return nil
}

func isDNSLabel(name string) []string { return apivalidation.NameIsDNSLabel(name, false) }

func textIn(object map[string]any, name string) string {
	text, _ := object[name].(string)
	return text
}

// textsIn returns the texts in a field.
func textsIn(object map[string]any, name string) map[string]string {
	fields := jsonvalue.ObjectIn(object, name)
	texts := make(map[string]string, len(fields))
	for key := range fields {
		texts[key] = textIn(fields, key)
	}
	return texts
}

func listOf(value any) []any {
	list, _ := value.([]any)
	return list
}

// isJob reports whether the Pods of a kind end.
func isJob(kind string) bool { return strings.HasSuffix(kind, "Job") }
