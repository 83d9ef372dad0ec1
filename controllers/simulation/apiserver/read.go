package apiserver

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// representation is how a client wants to have objects.
type representation string

const (
	asObject   representation = ""
	asMetadata representation = "PartialObjectMetadata"
	asTable    representation = "Table"
)

// accepted returns the first representation that an Accept header names. All are written as JSON, whatever else is asked for.
func accepted(header string) representation {
	for part := range strings.SplitSeq(header, ",") {
		_, params, err := mime.ParseMediaType(part)
		switch as := representation(strings.TrimSuffix(params["as"], "List")); {
		case err != nil || params["g"] != metav1.GroupName && as != asObject:
		case as == asObject || as == asMetadata || as == asTable:
			return as
		}
	}
	return asObject
}

// serveGet answers with an object.
func (q *request) serveGet(w http.ResponseWriter) error {
	object, err := q.endpoint(q.server.reader).Get(q.Context(), q.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return q.writeObject(w, http.StatusOK, object)
}

// writeObject writes one object as the answer.
func (q *request) writeObject(w http.ResponseWriter, code int, object *unstructured.Unstructured) error {
	value, err := q.represent(object)
	if err == nil {
		writeJSON(w, code, value)
	}
	return err
}

// represent returns an object as the client wants to have it.
func (q *request) represent(object *unstructured.Unstructured) (any, error) {
	switch q.accept {
	case asTable:
		return q.table([]unstructured.Unstructured{*object}, object.GetResourceVersion())
	case asMetadata:
		return metadataOf(object), nil
	default:
		return object.Object, nil
	}
}

func metadataOf(object *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"apiVersion": metav1.SchemeGroupVersion.String(), "kind": "PartialObjectMetadata", "metadata": object.Object["metadata"],
	}
}

// serveList answers with a list or a watch.
func (q *request) serveList(w http.ResponseWriter) error {
	options, err := optionsOf(q, metav1.Convert_url_Values_To_v1_ListOptions)
	if err != nil {
		return err
	}
	if options.Watch {
		return q.serveWatch(w, options)
	}
	list, err := q.endpoint(q.server.reader).List(q.Context(), options)
	if err != nil {
		return err
	}
	if err := checkVersion(list.GetResourceVersion(), options); err != nil {
		return err
	}
	if err := paginate(list, options); err != nil {
		return err
	}
	return q.writeList(w, list)
}

// optionsOf returns the options that the address of a request has.
func optionsOf[Options any](q *request, convert func(*url.Values, *Options, conversion.Scope) error) (options Options, err error) {
	query := q.URL.Query()
	if err := convert(&query, &options, nil); err != nil {
		return options, apierrors.NewBadRequest(err.Error())
	}
	return options, nil
}

func (q *request) writeList(w http.ResponseWriter, list *unstructured.UnstructuredList) error {
	if q.accept == asTable {
		table, err := q.table(list.Items, list.GetResourceVersion())
		if err != nil {
			return err
		}
		table.Continue, table.RemainingItemCount = list.GetContinue(), list.GetRemainingItemCount()
		writeJSON(w, http.StatusOK, table)
		return nil
	}
	items := make([]any, len(list.Items))
	for i := range list.Items {
		items[i] = list.Items[i].Object
		if q.accept == asMetadata {
			items[i] = metadataOf(&list.Items[i])
		}
	}
	if q.accept == asMetadata {
		list.Object["apiVersion"], list.Object["kind"] = metav1.SchemeGroupVersion.String(), "PartialObjectMetadataList"
	}
	list.Object["items"] = items
	writeJSON(w, http.StatusOK, list.Object)
	return nil
}

// checkVersion returns the error for a list that asks for another version than the present one, which is the only one that there is.
func checkVersion(present string, options metav1.ListOptions) error {
	asked, err := strconv.ParseInt("0"+options.ResourceVersion, 10, 64)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("resourceVersion: Invalid value: %q", options.ResourceVersion))
	}
	now, _ := strconv.ParseInt(present, 10, 64)
	switch {
	case asked > now:
		return apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, now), 1)
	case options.ResourceVersionMatch == metav1.ResourceVersionMatchExact && asked < now:
		return apierrors.NewResourceExpired(fmt.Sprintf("The provided resource version %d is too old", asked))
	}
	return nil
}

// paginate cuts a list to its limit. The token of a page is the version of the first page and the last object before it: later pages have
// what is there when they are asked for.
func paginate(list *unstructured.UnstructuredList, options metav1.ListOptions) error {
	version := list.GetResourceVersion()
	if options.Continue != "" {
		text, err := base64.RawURLEncoding.DecodeString(options.Continue)
		of, last, isToken := strings.Cut(string(text), " ")
		if err != nil || !isToken {
			return apierrors.NewBadRequest("continue key is not valid")
		}
		version = of
		start, found := slices.BinarySearchFunc(list.Items, last, func(o unstructured.Unstructured, last string) int {
			namespace, name, _ := strings.Cut(last, "/")
			return cmp.Or(cmp.Compare(o.GetNamespace(), namespace), cmp.Compare(o.GetName(), name))
		})
		if found {
			start++
		}
		list.Items = list.Items[start:]
	}
	list.SetResourceVersion(version)
	if limit := int(options.Limit); limit > 0 && limit < len(list.Items) {
		left, last := int64(len(list.Items)-limit), list.Items[limit-1]
		list.Items = list.Items[:limit]
		list.SetContinue(base64.RawURLEncoding.EncodeToString([]byte(version + " " + last.GetNamespace() + "/" + last.GetName())))
		if options.LabelSelector == "" && options.FieldSelector == "" {
			list.SetRemainingItemCount(&left)
		}
	}
	return nil
}

// table returns objects as a table.
func (q *request) table(objects []unstructured.Unstructured, version string) (*metav1.Table, error) {
	options, err := optionsOf(q, metav1.Convert_url_Values_To_v1_TableOptions)
	if err != nil {
		return nil, err
	}
	table := &metav1.Table{
		TypeMeta: metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "Table"},
		ListMeta: metav1.ListMeta{ResourceVersion: version}, Rows: make([]metav1.TableRow, len(objects)),
	}
	for _, column := range q.resource.columns {
		table.ColumnDefinitions = append(table.ColumnDefinitions, column.TableColumnDefinition)
	}
	for i := range objects {
		object, row := &objects[i], &table.Rows[i]
		for _, column := range q.resource.columns {
			row.Cells = append(row.Cells, column.cell(object, q.server.config.Clock.Now()))
		}
		switch options.IncludeObject {
		case metav1.IncludeNone:
		case metav1.IncludeObject:
			row.Object = runtime.RawExtension{Object: object}
		default:
			row.Object = runtime.RawExtension{Object: &unstructured.Unstructured{Object: metadataOf(object)}}
		}
	}
	return table, nil
}
