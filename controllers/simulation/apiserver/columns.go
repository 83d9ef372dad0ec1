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
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/jsonpath"

	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// column is a column of tables.
type column struct {
	metav1.TableColumnDefinition
	cell func(object *unstructured.Unstructured, now time.Time) any
}

var metadataDocs = metav1.ObjectMeta{}.SwaggerDoc()

var (
	name = column{
		metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: metadataDocs["name"]},
		cell("metadata.name"),
	}
	age = column{
		metav1.TableColumnDefinition{Name: "Age", Type: "string", Description: metadataDocs["creationTimestamp"]},
		cell("@metadata.creationTimestamp"),
	}
	// state is for built-in kinds of which no more is known.
	state = column{
		metav1.TableColumnDefinition{Name: "Status", Type: "string"},
		func(object *unstructured.Unstructured, _ time.Time) any { return string(readiness.Of(object).State) },
	}
)

// customColumns returns the columns of a CustomResourceDefinition. One with a malformed path is empty.
func customColumns(definitions []apiextensionsv1.CustomResourceColumnDefinition) []column {
	columns := []column{name}
	for _, d := range definitions {
		path := jsonpath.New(d.Name).AllowMissingKeys(true)
		parseErr := path.Parse("{" + d.JSONPath + "}")
		columns = append(columns, column{
			metav1.TableColumnDefinition{Name: d.Name, Type: d.Type, Format: d.Format, Description: d.Description, Priority: d.Priority},
			func(object *unstructured.Unstructured, now time.Time) any {
				if parseErr != nil {
					return nil
				}
				found, err := path.FindResults(object.Object)
				if err != nil || len(found) == 0 || len(found[0]) == 0 {
					return nil
				}
				return customCell(path, d.Type, found[0][0].Interface(), now)
			},
		})
	}
	return columns
}

// customCell returns a value as it is shown in a column of a type.
func customCell(path *jsonpath.JSONPath, kind string, value any, now time.Time) any {
	switch kind {
	case "string":
		var shown bytes.Buffer
		if path.PrintResults(&shown, []reflect.Value{reflect.ValueOf(value)}) != nil {
			return nil
		}
		return shown.String()
	case "date":
		return since(fmt.Sprint(value), now)
	}
	switch v := value.(type) {
	case float64:
		if kind == "integer" {
			return int64(v)
		}
	case map[string]any, []any:
		return nil
	}
	return value
}

// since returns how long ago a time was.
func since(text string, now time.Time) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(at))
}

// builtInColumns are the columns of tables of built-in kinds, between name and age, as NAME=CELL. See cell.
var builtInColumns = map[string]string{
	"ConfigMap":                "Data=#data",
	"Secret":                   "Type=type:Opaque;Data=#data",
	"Namespace":                "Status=status.phase",
	"Pod":                      "Ready=#status.containerStatuses?ready/#spec.containers;Status=status.phase:Pending",
	"Service":                  "Type=spec.type:ClusterIP;Cluster-IP=spec.clusterIP:<none>;External-IP=spec.externalName:<none>",
	"Event":                    "Last Seen=@lastTimestamp;Type=type;Reason=reason;Object=involvedObject.kind/involvedObject.name;Message=message",
	"Deployment":               "Ready=status.readyReplicas:0/spec.replicas:1;Up-to-date=status.updatedReplicas:0;Available=status.availableReplicas:0",
	"ReplicaSet":               "Desired=spec.replicas:1;Current=status.replicas:0;Ready=status.readyReplicas:0",
	"StatefulSet":              "Ready=status.readyReplicas:0/spec.replicas:1",
	"DaemonSet":                "Desired=status.desiredNumberScheduled:0;Ready=status.numberReady:0",
	"Job":                      "Completions=status.succeeded:0/spec.completions:1",
	"Lease":                    "Holder=spec.holderIdentity",
	"CustomResourceDefinition": "Created At=metadata.creationTimestamp",
}

// columnsOf returns the columns of a built-in resource.
func columnsOf(r memcluster.Resource) []column {
	columns, cells := []column{name}, builtInColumns[r.Kind.Kind]
	if cells == "" && readiness.InTable(r.Kind.GroupKind()) {
		columns = append(columns, state)
	}
	for titled := range strings.SplitSeq(cells, ";") {
		if title, from, ok := strings.Cut(titled, "="); ok {
			columns = append(columns, column{metav1.TableColumnDefinition{Name: title, Type: "string"}, cell(from)})
		}
	}
	if r.Kind.Kind == "Event" || r.Kind.Kind == "CustomResourceDefinition" {
		return columns
	}
	return append(columns, age)
}

// cell returns what shows a field, as PATH:DEFAULT, how long ago a time was, as @PATH, the number of items of a field, as #PATH, or of
// those of which a field is true, as #PATH?FIELD, or several of them with a slash between.
func cell(from string) func(*unstructured.Unstructured, time.Time) any {
	return func(object *unstructured.Unstructured, now time.Time) any {
		var parts []string
		for part := range strings.SplitSeq(from, "/") {
			path, fallback, _ := strings.Cut(part, ":")
			shown := text(object, path)
			if counted, isCount := strings.CutPrefix(path, "#"); isCount {
				shown = strconv.Itoa(count(object, counted))
			} else if at, isTime := strings.CutPrefix(path, "@"); isTime {
				shown = since(text(object, at), now)
			} else if shown == "" {
				shown = fallback
			}
			parts = append(parts, shown)
		}
		return strings.Join(parts, "/")
	}
}

func count(object *unstructured.Unstructured, from string) int {
	path, field, isFiltered := strings.Cut(from, "?")
	number := 0
	switch items := value(object, path).(type) {
	case map[string]any:
		number = len(items)
	case []any:
		for _, item := range items {
			if fields, ok := item.(map[string]any); !isFiltered || ok && fields[field] == true {
				number++
			}
		}
	}
	return number
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
