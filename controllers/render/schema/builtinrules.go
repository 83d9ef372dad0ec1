package schema

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/jsonvalue"
)

// immutable are the fields of a kind that cannot be changed.
var immutable = map[string][]string{
	"DaemonSet":             {"spec.selector"},
	"Deployment":            {"spec.selector"},
	"Job":                   {"spec.selector", "spec.template", "spec.completionMode"},
	"PersistentVolumeClaim": {"spec.accessModes", "spec.storageClassName", "spec.volumeMode", "spec.selector"},
	"ReplicaSet":            {"spec.selector"},
	"Secret":                {"type"},
	"RoleBinding":           {"roleRef"},
	"ClusterRoleBinding":    {"roleRef"},
}

// templated are the fields of the kinds that make Pods.
var templated = map[string]string{
	"DaemonSet": "spec.template", "Deployment": "spec.template", "Job": "spec.template", "ReplicaSet": "spec.template",
	"StatefulSet": "spec.template", "CronJob": "spec.jobTemplate.spec.template",
}

// Validate returns what is wrong with an object as far as the rules here tell: names, fields that must not
// change, selectors and Pods. The API server has more rules.
func (b builtIn) Validate(object, old *unstructured.Unstructured) field.ErrorList {
	at := field.NewPath("metadata")
	if old != nil {
		return append(apivalidation.ValidateObjectMetaAccessorUpdate(object, old, at), b.validateChange(object, old)...)
	}
	errs := apivalidation.ValidateObjectMetaAccessor(object, b.namespaced, b.nameRule(), at)
	if b.kind.Kind == "Pod" {
		errs = append(errs, validatePodSpec(object.Object["spec"], field.NewPath("spec"))...)
		errs = append(errs, validateMounts(object.Object["spec"], field.NewPath("spec"))...)
	}
	return append(errs, b.validateTemplate(object)...)
}

// ValidateStatus returns what is wrong with the metadata: the rules here know nothing of status.
func (b builtIn) ValidateStatus(object, old *unstructured.Unstructured) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessorUpdate(object, old, field.NewPath("metadata"))
}

func (b builtIn) nameRule() apivalidation.ValidateNameFunc {
	switch {
	case b.kind.Group == "rbac.authorization.k8s.io":
		return isPathSegment
	case b.kind.Kind == "Service", b.kind.Kind == "Namespace":
		return apivalidation.NameIsDNSLabel
	default:
		return apivalidation.NameIsDNSSubdomain
	}
}

// isPathSegment returns why a name cannot be a part of an URL.
func isPathSegment(name string, _ bool) []string {
	return content.IsPathSegmentName(name)
}

// validateChange returns the changes that the API server refuses.
func (b builtIn) validateChange(object, old *unstructured.Unstructured) field.ErrorList {
	errs := b.validateTemplate(object)
	for _, name := range immutable[b.kind.Kind] {
		before, was := nested(old, name)
		after, is := nested(object, name)
		if was != is || !reflect.DeepEqual(before, after) {
			errs = append(errs, field.Invalid(field.NewPath(name), after, apivalidation.FieldImmutableErrorMsg))
		}
	}
	frozen, _ := nested(old, "immutable")
	spec := field.NewPath("spec")
	switch {
	case frozen == true && !reflect.DeepEqual(old.Object["data"], object.Object["data"]):
		errs = append(errs, field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set"))
	case b.kind.Kind == "StatefulSet" && !equalBut(old, object, statefulSetChanges):
		errs = append(errs, field.Forbidden(spec, "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "+
			"'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"))
	case b.kind.Kind == "Pod" && !reflect.DeepEqual(podSpecWithout(old), podSpecWithout(object)):
		errs = append(errs, field.Forbidden(spec, "pod updates may not change fields other than `spec.containers[*].image`,"+
			"`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"+
			"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"))
	}
	return errs
}

var statefulSetChanges = []string{
	"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
}

// equalBut reports whether the specs are equal but for some fields.
func equalBut(old, object *unstructured.Unstructured, fields []string) bool {
	rest := func(object *unstructured.Unstructured) map[string]any {
		spec, _ := object.Object["spec"].(map[string]any)
		spec = maps.Clone(spec)
		maps.DeleteFunc(spec, func(name string, _ any) bool { return slices.Contains(fields, name) })
		return spec
	}
	return reflect.DeepEqual(rest(old), rest(object))
}

// podSpecWithout returns the spec of a Pod without what may be changed.
func podSpecWithout(pod *unstructured.Unstructured) map[string]any {
	spec, _ := runtime.DeepCopyJSONValue(pod.Object["spec"]).(map[string]any)
	for _, name := range []string{"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates", "nodeName"} {
		delete(spec, name)
	}
	for _, name := range []string{"containers", "initContainers"} {
		list, _ := spec[name].([]any)
		for _, item := range list {
			if container, ok := item.(map[string]any); ok {
				delete(container, "image")
			}
		}
	}
	return spec
}

// validateTemplate returns what is wrong with the Pods that an object makes, and with how it selects them.
func (b builtIn) validateTemplate(object *unstructured.Unstructured) field.ErrorList {
	name, ok := templated[b.kind.Kind]
	if !ok {
		return nil
	}
	at := field.NewPath(name)
	value, _ := nested(object, name)
	template, _ := value.(map[string]any)
	errs := validatePodSpec(template["spec"], at.Child("spec"))
	claims, _ := nested(object, "spec.volumeClaimTemplates")
	errs = append(errs, validateMounts(template["spec"], at.Child("spec"), listOf(claims)...)...)
	if strings.HasSuffix(b.kind.Kind, "Job") {
		policy, _, _ := unstructured.NestedString(template, "spec", "restartPolicy")
		if policy != "OnFailure" && policy != "Never" {
			errs = append(errs, field.Required(at.Child("spec", "restartPolicy"), `valid values: "OnFailure", "Never"`))
		}
		return errs
	}
	return append(errs, validateSelector(object, template, at)...)
}

func validateSelector(object *unstructured.Unstructured, template map[string]any, at *field.Path) field.ErrorList {
	given, _ := nested(object, "spec.selector")
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

// validatePodSpec returns containers without a name, or with the name of another.
func validatePodSpec(value any, at *field.Path) field.ErrorList {
	spec, _ := value.(map[string]any)
	containers, _ := spec["containers"].([]any)
	if len(containers) == 0 {
		return field.ErrorList{field.Required(at.Child("containers"), "")}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, item := range containers {
		container, _ := item.(map[string]any)
		name, _ := container["name"].(string)
		here := at.Child("containers").Index(i).Child("name")
		switch problems := apivalidation.NameIsDNSLabel(name, false); {
		case name == "":
			errs = append(errs, field.Required(here, ""))
		case len(problems) > 0:
			errs = append(errs, field.Invalid(here, name, problems[0]))
		case seen[name]:
			errs = append(errs, field.Duplicate(here, name))
		}
		seen[name] = true
	}
	return errs
}

// validateMounts returns the mounts of containers whose volume is neither in the Pod nor a claim.
func validateMounts(value any, at *field.Path, claims ...any) field.ErrorList {
	spec, _ := value.(map[string]any)
	volumes := map[string]bool{}
	for _, volume := range listOf(spec["volumes"]) {
		name, _ := jsonvalue.AsObject(volume)["name"].(string)
		volumes[name] = true
	}
	for _, claim := range claims {
		name, _ := jsonvalue.ObjectIn(jsonvalue.AsObject(claim), "metadata")["name"].(string)
		volumes[name] = true
	}
	var errs field.ErrorList
	for _, list := range []string{"containers", "initContainers"} {
		for i, container := range listOf(spec[list]) {
			mounts := at.Child(list).Index(i).Child("volumeMounts")
			for j, mount := range listOf(jsonvalue.AsObject(container)["volumeMounts"]) {
				here := mounts.Index(j).Child("name")
				switch name, _ := jsonvalue.AsObject(mount)["name"].(string); {
				case name == "":
					errs = append(errs, field.Required(here, ""))
				case !volumes[name]:
					errs = append(errs, field.NotFound(here, name))
				}
			}
		}
	}
	return errs
}

func listOf(value any) []any {
	list, _ := value.([]any)
	return list
}

// nested returns the value at a dotted path.
func nested(object *unstructured.Unstructured, dotted string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(object.Object, strings.Split(dotted, ".")...)
	return value, found && err == nil
}
