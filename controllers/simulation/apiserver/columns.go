package apiserver

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/jsonpath"
)

// column is a column of tables.
type column struct {
	metav1.TableColumnDefinition
	cell func(object *unstructured.Unstructured, now time.Time) any
}

var metadataDocs = metav1.ObjectMeta{}.SwaggerDoc()

// columnDefinitions returns the columns of the resource's tables, of which the first is the name.
func (r *resource) columnDefinitions() []metav1.TableColumnDefinition {
	list := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name", Description: metadataDocs["name"]}}
	for _, column := range r.columns {
		list = append(list, column.TableColumnDefinition)
	}
	return list
}

// cells returns the row of an object.
func (r *resource) cells(object *unstructured.Unstructured, now time.Time) []any {
	cells := []any{object.GetName()}
	for _, column := range r.columns {
		cells = append(cells, column.cell(object, now))
	}
	return cells
}

// customColumns returns the columns of a CustomResourceDefinition. One with a malformed path is empty.
func customColumns(definitions []apiextensionsv1.CustomResourceColumnDefinition) []column {
	var columns []column
	for _, d := range definitions {
		path := jsonpath.New(d.Name).AllowMissingKeys(true)
		parseErr := path.Parse("{" + d.JSONPath + "}")
		columns = append(columns, column{
			TableColumnDefinition: metav1.TableColumnDefinition{
				Name: d.Name, Type: d.Type, Format: d.Format, Description: d.Description, Priority: d.Priority,
			},
			cell: func(object *unstructured.Unstructured, now time.Time) any {
				if parseErr != nil {
					return nil
				}
				found, err := path.FindResults(object.Object)
				if err != nil || len(found) == 0 || len(found[0]) == 0 {
					return nil
				}
				return customCell(path, d.Type, found[0][0], now)
			},
		})
	}
	return columns
}

// customCell returns a value as it is shown in a column of a type.
func customCell(path *jsonpath.JSONPath, kind string, found reflect.Value, now time.Time) any {
	value := found.Interface()
	switch kind {
	case "string":
		var text bytes.Buffer
		if path.PrintResults(&text, []reflect.Value{reflect.ValueOf(value)}) != nil {
			return nil
		}
		return text.String()
	case "date":
		text, _ := value.(string)
		return since(text, now)
	case "integer":
		switch n := value.(type) {
		case int64:
			return n
		case float64:
			return int64(n)
		}
	case "number":
		switch value.(type) {
		case int64, float64:
			return value
		}
	case "boolean":
		if is, ok := value.(bool); ok {
			return is
		}
	}
	return nil
}

// since returns how long ago a time was.
func since(text string, now time.Time) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(at))
}

// cellFunc returns a cell of an object.
type cellFunc func(object *unstructured.Unstructured) any

func builtIn(name string, cell cellFunc) column {
	return column{metav1.TableColumnDefinition{Name: name, Type: "string"}, func(object *unstructured.Unstructured, _ time.Time) any {
		return cell(object)
	}}
}

var (
	age = column{
		metav1.TableColumnDefinition{Name: "Age", Type: "string", Description: metadataDocs["creationTimestamp"]},
		func(object *unstructured.Unstructured, now time.Time) any {
			return since(text(object, "metadata.creationTimestamp"), now)
		},
	}
	created = builtIn("Created At", func(o *unstructured.Unstructured) any { return text(o, "metadata.creationTimestamp") })
)

// builtInColumns are those of tables of built-in kinds that have more than the age.
var builtInColumns = map[schema.GroupKind][]column{
	{Kind: "ConfigMap"}: {builtIn("Data", entries), age},
	{Kind: "Secret"}:    {builtIn("Type", field("type")), builtIn("Data", entries), age},
	{Kind: "Namespace"}: {builtIn("Status", field("status.phase")), age},
	{Kind: "Node"}:      {builtIn("Status", conditionCell("Ready")), age, builtIn("Version", field("status.nodeInfo.kubeletVersion"))},
	{Kind: "PersistentVolumeClaim"}: {
		builtIn("Status", field("status.phase")), builtIn("Volume", field("spec.volumeName")), builtIn("Capacity", field("status.capacity.storage")),
		builtIn("StorageClass", field("spec.storageClassName")), age,
	},
	{Kind: "Pod"}: {builtIn("Ready", readyContainers), builtIn("Status", podStatus), builtIn("Restarts", field("status.restarts", "0")), age},
	{Kind: "Service"}: {
		builtIn("Type", field("spec.type", "ClusterIP")), builtIn("Cluster-IP", field("spec.clusterIP", "<none>")),
		builtIn("External-IP", field("spec.externalName", "<none>")), builtIn("Port(s)", ports), age,
	},
	{Kind: "Event"}: {
		{metav1.TableColumnDefinition{Name: "Last Seen", Type: "string"}, func(o *unstructured.Unstructured, now time.Time) any {
			return since(firstText(o, "lastTimestamp", "eventTime", "firstTimestamp", "metadata.creationTimestamp"), now)
		}},
		builtIn("Type", field("type")), builtIn("Reason", field("reason")), builtIn("Object", involved), builtIn("Message", field("message")),
	},
	{Group: "apps", Kind: "Deployment"}: {
		builtIn("Ready", readyOf("status.readyReplicas")), builtIn("Up-to-date", number("status.updatedReplicas")),
		builtIn("Available", number("status.availableReplicas")), age,
	},
	{Group: "apps", Kind: "ReplicaSet"}:         replicaColumns,
	{Kind: "ReplicationController"}:             replicaColumns,
	{Group: "apps", Kind: "StatefulSet"}:        {builtIn("Ready", readyOf("status.readyReplicas")), age},
	{Group: "apps", Kind: "ControllerRevision"}: {builtIn("Revision", number("revision")), age},
	{Group: "apps", Kind: "DaemonSet"}: {
		builtIn("Desired", number("status.desiredNumberScheduled")), builtIn("Current", number("status.currentNumberScheduled")),
		builtIn("Ready", number("status.numberReady")), builtIn("Up-to-date", number("status.updatedNumberScheduled")),
		builtIn("Available", number("status.numberAvailable")), age,
	},
	{Group: "batch", Kind: "Job"}: {builtIn("Status", jobStatus), builtIn("Completions", func(o *unstructured.Unstructured) any {
		return fmt.Sprintf("%d/%d", integer(o, "status.succeeded", 0), integer(o, "spec.completions", 1))
	}), age},
	{Group: "batch", Kind: "CronJob"}: {
		builtIn("Schedule", field("spec.schedule")), builtIn("Suspend", field("spec.suspend", "False")),
		builtIn("Last Schedule", field("status.lastScheduleTime", "<none>")), age,
	},
	{Group: "networking.k8s.io", Kind: "Ingress"}: {builtIn("Class", field("spec.ingressClassName", "<none>")), age},
	{Group: "coordination.k8s.io", Kind: "Lease"}: {builtIn("Holder", field("spec.holderIdentity")), age},
	{Group: "policy", Kind: "PodDisruptionBudget"}: {
		builtIn("Min Available", field("spec.minAvailable", "N/A")), builtIn("Max Unavailable", field("spec.maxUnavailable", "N/A")),
		builtIn("Allowed Disruptions", number("status.disruptionsAllowed")), age,
	},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:         {created},
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                {created},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:  {builtIn("Role", roleRef), age},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:         {builtIn("Role", roleRef), age},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {created},
}

var replicaColumns = []column{
	builtIn("Desired", func(o *unstructured.Unstructured) any { return integer(o, "spec.replicas", 1) }),
	builtIn("Current", number("status.replicas")), builtIn("Ready", number("status.readyReplicas")), age,
}

// value returns a field of an object, or nil.
func value(o *unstructured.Unstructured, path string) any {
	found, _, _ := unstructured.NestedFieldNoCopy(o.Object, strings.Split(path, ".")...)
	return found
}

func text(o *unstructured.Unstructured, path string) string {
	if found := value(o, path); found != nil {
		return fmt.Sprint(found)
	}
	return ""
}

// firstText returns the first field that is not empty.
func firstText(o *unstructured.Unstructured, paths ...string) string {
	for _, path := range paths {
		if found := text(o, path); found != "" {
			return found
		}
	}
	return ""
}

func integer(o *unstructured.Unstructured, path string, fallback int64) int64 {
	if n, ok := value(o, path).(int64); ok {
		return n
	}
	return fallback
}

// field returns a field as text, or what stands for one that is not set.
func field(path string, unset ...string) cellFunc {
	return func(o *unstructured.Unstructured) any {
		found := text(o, path)
		if found == "" && len(unset) > 0 {
			return unset[0]
		}
		if _, isBool := value(o, path).(bool); isBool {
			return strings.ToUpper(found[:1]) + found[1:]
		}
		return found
	}
}

func number(path string) cellFunc {
	return func(o *unstructured.Unstructured) any { return integer(o, path, 0) }
}

// entries returns the number of the entries of a ConfigMap or a Secret.
func entries(o *unstructured.Unstructured) any {
	count := 0
	for _, name := range []string{"data", "binaryData"} {
		data, _ := o.Object[name].(map[string]any)
		count += len(data)
	}
	return count
}

func readyOf(path string) cellFunc {
	return func(o *unstructured.Unstructured) any {
		return fmt.Sprintf("%d/%d", integer(o, path, 0), integer(o, "spec.replicas", 1))
	}
}

func readyContainers(o *unstructured.Unstructured) any {
	containers, _ := value(o, "spec.containers").([]any)
	statuses, _ := value(o, "status.containerStatuses").([]any)
	ready := 0
	for _, item := range statuses {
		if status, ok := item.(map[string]any); ok && status["ready"] == true {
			ready++
		}
	}
	return strconv.Itoa(ready) + "/" + strconv.Itoa(len(containers))
}

func podStatus(o *unstructured.Unstructured) any {
	if o.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	switch phase := firstText(o, "status.reason", "status.phase"); phase {
	case "":
		return "Pending"
	case "Succeeded":
		return "Completed"
	default:
		return phase
	}
}

func jobStatus(o *unstructured.Unstructured) any {
	for kind, shown := range map[string]string{"Complete": "Complete", "Failed": "Failed", "Suspended": "Suspended"} {
		if conditionStatus(o, kind) == "True" {
			return shown
		}
	}
	return "Running"
}

func conditionStatus(o *unstructured.Unstructured, kind string) string {
	conditions, _ := value(o, "status.conditions").([]any)
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == kind {
			return fmt.Sprint(condition["status"])
		}
	}
	return ""
}

func conditionCell(kind string) cellFunc {
	return func(o *unstructured.Unstructured) any {
		if conditionStatus(o, kind) == "True" {
			return kind
		}
		return "Not" + kind
	}
}

func ports(o *unstructured.Unstructured) any {
	var list []string
	ports, _ := value(o, "spec.ports").([]any)
	for _, item := range ports {
		port, _ := item.(map[string]any)
		protocol, _ := port["protocol"].(string)
		if protocol == "" {
			protocol = "TCP"
		}
		list = append(list, fmt.Sprintf("%v/%s", port["port"], protocol))
	}
	if len(list) == 0 {
		return "<none>"
	}
	return strings.Join(list, ",")
}

func involved(o *unstructured.Unstructured) any {
	return strings.ToLower(text(o, "involvedObject.kind")) + "/" + text(o, "involvedObject.name")
}

func roleRef(o *unstructured.Unstructured) any {
	return text(o, "roleRef.kind") + "/" + text(o, "roleRef.name")
}
