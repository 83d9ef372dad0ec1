package validation

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// immutable are the fields of a kind that cannot be changed.
var immutable = map[string][]string{
	"ClusterRoleBinding": {"roleRef"},
	"ControllerRevision": {"data"},
	"DaemonSet":          {"spec.selector"},
	"Deployment":         {"spec.selector"},
	"EndpointSlice":      {"addressType"},
	"IngressClass":       {"spec.controller"},
	"Job": {
		"spec.selector", "spec.completionMode", "spec.podFailurePolicy", "spec.backoffLimitPerIndex", "spec.managedBy", "spec.successPolicy",
	},
	"PriorityClass": {"value", "preemptionPolicy"},
	"ReplicaSet":    {"spec.selector"},
	"RoleBinding":   {"roleRef"},
	"StorageClass":  {"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"},
}

// changeRules return what is wrong with a change of an object of a kind, besides its immutable fields.
var changeRules = map[string]func(object, old *unstructured.Unstructured) field.ErrorList{
	"ConfigMap":             validateFrozen,
	"Job":                   validateJobChange,
	"PersistentVolumeClaim": validateClaimChange,
	"Pod":                   validatePodChange,
	"Secret":                validateSecretChange,
	"Service":               validateServiceChange,
	"StatefulSet":           validateStatefulSetChange,
}

// validateChange returns the changes that the API server refuses.
func (b builtIn) validateChange(object, old *unstructured.Unstructured) field.ErrorList {
	var errs field.ErrorList
	for _, name := range immutable[b.kind.Kind] {
		before := nested(old, name)
		after := nested(object, name)
		last := name[strings.LastIndexByte(name, '.')+1:]
		if changesField(map[string]any{last: before}, map[string]any{last: after}) {
			errs = append(errs, field.Invalid(field.NewPath(name), after, apivalidation.FieldImmutableErrorMsg))
		}
	}
	if rule := changeRules[b.kind.Kind]; rule != nil {
		errs = append(errs, rule(object, old)...)
	}
	return errs
}

// undefaulted are fields that nobody fills in: without them a value is another one. A field with a default may be missing in what is sent.
var undefaulted = map[string]bool{
	"affinity": true, "args": true, "command": true, "data": true, "dnsConfig": true, "env": true, "envFrom": true, "hostAliases": true,
	"hostname": true, "lifecycle": true, "livenessProbe": true, "matchExpressions": true, "matchLabels": true, "nodeSelector": true,
	"parameters": true, "readinessProbe": true,
	"serviceName": true, "startupProbe": true, "subdomain": true, "volumeClaimTemplates": true, "volumeMounts": true, "workingDir": true,
}

// dictionaries are the fields whose keys are values, none of which has a default.
var dictionaries = map[string]bool{"data": true, "matchLabels": true, "nodeSelector": true, "parameters": true}

// changes reports whether a value surely differs from the one before. What is missing, or as good as missing, may get a default, and be as
// before.
func changes(before, after any) bool {
	if number, ok := jsonvalue.Integer(after); ok && number == 0 || after == nil || after == "" {
		return false
	}
	if jsonvalue.IsZero(before) && jsonvalue.IsZero(after) {
		return false
	}
	switch a := after.(type) {
	case map[string]any:
		b, ok := before.(map[string]any)
		return !ok && before != nil || changesField(b, a)
	case []any:
		b, ok := before.([]any)
		if !ok || len(a) != len(b) {
			return true
		}
		for i := range a {
			if changes(b[i], a[i]) {
				return true
			}
		}
		return false
	default:
		return !jsonvalue.Equal(before, after)
	}
}

// changesField is changes for the fields of an object.
func changesField(before, after map[string]any) bool {
	for name, value := range after {
		if dictionaries[name] && len(jsonvalue.ObjectIn(before, name)) != len(jsonvalue.ObjectIn(after, name)) || changes(before[name], value) {
			return true
		}
	}
	for name, value := range before {
		if undefaulted[name] && jsonvalue.IsZero(after[name]) && !jsonvalue.IsZero(value) {
			return true
		}
	}
	return false
}

// specWithout returns the spec of an object without some fields.
func specWithout(object *unstructured.Unstructured, fields ...string) map[string]any {
	spec := maps.Clone(jsonvalue.ObjectIn(object.Object, "spec"))
	maps.DeleteFunc(spec, func(name string, _ any) bool { return slices.Contains(fields, name) })
	return spec
}

// validateFrozen returns the changes of a ConfigMap or a Secret that must not be changed any more.
func validateFrozen(object, old *unstructured.Unstructured) field.ErrorList {
	if old.Object["immutable"] != true {
		return nil
	}
	var errs field.ErrorList
	const message = "field is immutable when `immutable` is set"
	if object.Object["immutable"] != true {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), message))
	}
	for _, name := range []string{"data", "binaryData"} {
		if !jsonvalue.Equal(jsonvalue.ObjectIn(old.Object, name), jsonvalue.ObjectIn(object.Object, name)) {
			errs = append(errs, field.Forbidden(field.NewPath(name), message))
		}
	}
	return errs
}

func validateSecretChange(object, old *unstructured.Unstructured) field.ErrorList {
	errs := validateFrozen(object, old)
	typeOf := func(secret *unstructured.Unstructured) string {
		if name := textIn(secret.Object, "type"); name != "" {
			return name
		}
		return string(corev1.SecretTypeOpaque)
	}
	if typeOf(old) != typeOf(object) {
		errs = append(errs, field.Invalid(field.NewPath("type"), typeOf(object), apivalidation.FieldImmutableErrorMsg))
	}
	return errs
}

// validateJobChange returns that the Pods of a Job change. Those of one that is suspended may, in some versions of Kubernetes.
func validateJobChange(object, old *unstructured.Unstructured) field.ErrorList {
	spec, before := jsonvalue.ObjectIn(object.Object, "spec"), jsonvalue.ObjectIn(old.Object, "spec")
	var errs field.ErrorList
	if before["suspend"] != true && changes(before["template"], spec["template"]) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "template"), field.OmitValueType{}, apivalidation.FieldImmutableErrorMsg))
	}
	if spec["completionMode"] != "Indexed" && before["completions"] != nil && changes(before["completions"], spec["completions"]) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "completions"), spec["completions"], apivalidation.FieldImmutableErrorMsg))
	}
	return errs
}

// validateClaimChange returns changes of a PersistentVolumeClaim. What is allowed for bound ones alone is taken to be allowed.
func validateClaimChange(object, old *unstructured.Unstructured) field.ErrorList {
	at := field.NewPath("spec")
	free := []string{"resources", "volumeAttributesClassName"}
	before := jsonvalue.ObjectIn(old.Object, "spec")
	for _, name := range []string{"volumeName", "storageClassName"} {
		if before[name] == nil {
			free = append(free, name) // It is set once.
		}
	}
	if changes(specWithout(old, free...), specWithout(object, free...)) {
		return field.ErrorList{field.Forbidden(at, "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims")}
	}
	storage := func(claim *unstructured.Unstructured, path ...string) any {
		value, _, _ := unstructured.NestedFieldNoCopy(claim.Object, append(path, "storage")...)
		return value
	}
	size, ok := quantityOf(storage(object, "spec", "resources", "requests"))
	was, wasOK := quantityOf(storage(old, "spec", "resources", "requests"))
	capacity, has := quantityOf(storage(old, "status", "capacity"))
	if ok && wasOK && has && size.Cmp(was) < 0 && size.Cmp(capacity) <= 0 {
		return field.ErrorList{field.Forbidden(at.Child("resources", "requests", "storage"), "field can not be less than status.capacity")}
	}
	return nil
}

func validateStatefulSetChange(object, old *unstructured.Unstructured) field.ErrorList {
	free := []string{
		"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
	}
	if !changes(specWithout(old, free...), specWithout(object, free...)) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "+
		"'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")}
}

// validateServiceChange returns that the address of a Service changes, which it must not unless it is or was one without an address.
func validateServiceChange(object, old *unstructured.Unstructured) field.ErrorList {
	spec, before := jsonvalue.ObjectIn(object.Object, "spec"), jsonvalue.ObjectIn(old.Object, "spec")
	const named = string(corev1.ServiceTypeExternalName)
	if spec["type"] == named || before["type"] == named {
		return nil
	}
	is, was := textIn(spec, "clusterIP"), textIn(before, "clusterIP")
	if is == "" || was == "" || is == was {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs").Index(0), []string{is}, "may not change once set")}
}

func validatePodChange(object, old *unstructured.Unstructured) field.ErrorList {
	free := []string{"activeDeadlineSeconds", "tolerations", "schedulingGates", "nodeName"}
	before := jsonvalue.ObjectIn(old.Object, "spec")
	if len(listOf(before["schedulingGates"])) > 0 {
		free = append(free, "nodeSelector", "affinity") // Some changes are allowed.
	}
	if seconds, _ := jsonvalue.Integer(before["terminationGracePeriodSeconds"]); seconds < 0 {
		free = append(free, "terminationGracePeriodSeconds")
	}
	if !changes(withoutImages(specWithout(old, free...)), withoutImages(specWithout(object, free...))) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec"), "pod updates may not change fields other than `spec.containers[*].image`,"+
		"`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"+
		"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)")}
}

// withoutImages replaces the containers of a Pod by such without images.
func withoutImages(spec map[string]any) map[string]any {
	for _, name := range []string{"containers", "initContainers"} {
		list := slices.Clone(listOf(spec[name]))
		for i, item := range list {
			if container, ok := item.(map[string]any); ok {
				list[i], _ = jsonvalue.Without(container, "image")
			}
		}
		if list != nil {
			spec[name] = list
		}
	}
	return spec
}
