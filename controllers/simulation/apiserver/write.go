package apiserver

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// writeOptions returns those of a write, which a patch has all of.
func (q *request) writeOptions() (metav1.PatchOptions, error) {
	options, err := optionsOf(q, metav1.Convert_url_Values_To_v1_PatchOptions)
	if options.FieldManager == "" {
		options.FieldManager, _, _ = strings.Cut(q.UserAgent(), "/")
	}
	return options, err
}

// subresources returns the subresource of the request as clients take it.
func (q *request) subresources() []string {
	if q.subresource == "" {
		return nil
	}
	return []string{q.subresource}
}

// write makes a write and answers with what is stored then. With strict validation it is tried before, to see whether fields would be
// dropped.
func (q *request) write(
	w http.ResponseWriter, do func(at dynamic.ResourceInterface, options metav1.PatchOptions) (*unstructured.Unstructured, error),
) error {
	options, err := q.writeOptions()
	if err != nil {
		return err
	}
	var write memcluster.Write
	at := q.endpoint(q.server.cluster.Client(func(made memcluster.Write) { write = made }))
	if options.FieldValidation == metav1.FieldValidationStrict {
		trial := options
		trial.DryRun = []string{metav1.DryRunAll}
		if _, err := do(at, trial); err == nil && len(write.Dropped) > 0 {
			return q.strictError(strings.Join(unknownFields(write.Dropped), ", "))
		}
	}
	object, err := do(at, options)
	q.wrote(write, options.DryRun)
	if err != nil {
		return err
	}
	if options.FieldValidation != metav1.FieldValidationIgnore {
		for _, warning := range unknownFields(write.Dropped) {
			if header, err := net.NewWarningHeader(299, "", warning); err == nil {
				w.Header().Add("Warning", header)
			}
		}
	}
	code := http.StatusOK
	if write.Before == nil {
		code = http.StatusCreated
	}
	return q.writeObject(w, code, object)
}

// wrote calls Config.Wrote with a write, unless it was a dry run, or was refused before it was one.
func (q *request) wrote(write memcluster.Write, dryRun []string) {
	if wrote := q.server.config.Wrote; wrote != nil && len(dryRun) == 0 && write.Verb != "" {
		wrote(q.Context(), write)
	}
}

// strictError returns the error for a write that has fields that the schema does not have.
func (q *request) strictError(what string) error {
	if what = "strict decoding error: " + what; q.Method != http.MethodPatch {
		return apierrors.NewBadRequest(what)
	}
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), field.OmitValueType{}, what)})
}

func unknownFields(paths []string) []string {
	var list []string
	for _, path := range paths {
		list = append(list, fmt.Sprintf("unknown field %q", strings.TrimPrefix(path, ".")))
	}
	return list
}

func (q *request) serveCreate(w http.ResponseWriter) error {
	object, err := q.object()
	if err != nil {
		return err
	}
	if prefix := object.GetGenerateName(); object.GetName() == "" && prefix != "" {
		object.SetName(prefix + rand.String(5))
	}
	if err := q.checkNamespace(object.GetName()); err != nil {
		return err
	}
	return q.write(w, func(at dynamic.ResourceInterface, o metav1.PatchOptions) (*unstructured.Unstructured, error) {
		return at.Create(q.Context(), object, metav1.CreateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager})
	})
}

// checkNamespace returns why no object can be created in the namespace, or nil.
func (q *request) checkNamespace(name string) error {
	if q.namespace == "" {
		return nil
	}
	namespace, err := q.server.reader.Resource(namespaces).Get(q.Context(), q.namespace, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if namespace.GetDeletionTimestamp() == nil {
		return nil
	}
	forbidden := apierrors.NewForbidden(q.resource.GroupResource(), name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", q.namespace))
	forbidden.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: "NamespaceTerminating", Message: fmt.Sprintf("namespace %s is being terminated", q.namespace), Field: "metadata.namespace",
	}}
	return forbidden
}

func (q *request) serveUpdate(w http.ResponseWriter) error {
	object, err := q.object()
	if err != nil {
		return err
	}
	if object.GetName() != q.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)",
			object.GetName(), q.name))
	}
	return q.write(w, func(at dynamic.ResourceInterface, o metav1.PatchOptions) (*unstructured.Unstructured, error) {
		return at.Update(q.Context(), object, metav1.UpdateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager}, q.subresources()...)
	})
}

func (q *request) servePatch(w http.ResponseWriter) error {
	kind, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type"))
	patch, err := body(q.Request)
	if err != nil {
		return err
	}
	if types.PatchType(kind) == types.ApplyPatchType {
		if _, err := q.endpoint(q.server.reader).Get(q.Context(), q.name, metav1.GetOptions{}); err != nil {
			if err := q.checkNamespace(q.name); err != nil {
				return err
			}
		}
	}
	return q.write(w, func(at dynamic.ResourceInterface, options metav1.PatchOptions) (*unstructured.Unstructured, error) {
		return at.Patch(q.Context(), q.name, types.PatchType(kind), patch, options, q.subresources()...)
	})
}

// deleteOptions returns those of the body.
func (q *request) deleteOptions() (options metav1.DeleteOptions, err error) {
	text, err := body(q.Request)
	if err == nil && len(text) > 0 {
		if err = json.Unmarshal(text, &options); err != nil {
			err = apierrors.NewBadRequest(err.Error())
		}
	}
	options.DryRun = append(options.DryRun, q.URL.Query()["dryRun"]...)
	return options, err
}

func (q *request) serveDelete(w http.ResponseWriter) error {
	options, err := q.deleteOptions()
	if err != nil {
		return err
	}
	var write memcluster.Write
	at := q.endpoint(q.server.cluster.Client(func(made memcluster.Write) { write = made }))
	err = at.Delete(q.Context(), q.name, options, q.subresources()...)
	q.wrote(write, options.DryRun)
	if err != nil {
		return err
	}
	if write.After != nil && len(options.DryRun) == 0 {
		return q.writeObject(w, http.StatusOK, write.After)
	}
	q.writeSuccess(w, q.name, write.Before.GetUID())
	return nil
}

func (q *request) serveDeleteCollection(w http.ResponseWriter) error {
	options, err := q.deleteOptions()
	if err != nil {
		return err
	}
	selected, err := optionsOf(q, metav1.Convert_url_Values_To_v1_ListOptions)
	if err != nil {
		return err
	}
	if err := q.endpoint(q.server.cluster.Client(func(memcluster.Write) {})).DeleteCollection(q.Context(), options, selected); err != nil {
		return err
	}
	q.writeSuccess(w, "", "")
	return nil
}

// writeSuccess answers that objects are gone.
func (q *request) writeSuccess(w http.ResponseWriter, name string, uid types.UID) {
	details := &metav1.StatusDetails{Name: name, Group: q.resource.Group, Kind: q.resource.GroupVersionResource.Resource, UID: uid}
	writeJSON(w, http.StatusOK, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Details: details,
	})
}
