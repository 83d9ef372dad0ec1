package apply

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/apply/fielddiff"
)

// FieldManagerConflict is a field that is not to be taken from another manager.
type FieldManagerConflict struct{ Manager, Field string }

// FieldManagerConflicts returns what an apply without force met, ordered by manager and field, or nil
// if an error is about something else.
func FieldManagerConflicts(err error) []FieldManagerConflict {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var conflicts []FieldManagerConflict
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		_, manager, _ := strings.Cut(cause.Message, `"`)
		manager, _, _ = strings.Cut(manager, `"`)
		conflicts = append(conflicts, FieldManagerConflict{Manager: manager, Field: strings.TrimPrefix(cause.Field, ".")})
	}
	slices.SortFunc(conflicts, func(a, b FieldManagerConflict) int {
		return strings.Compare(a.Manager+"\x00"+a.Field, b.Manager+"\x00"+b.Field)
	})
	return conflicts
}

// untyped reports whether an error is that what was applied does not fit the kind's
// schema. The API server returns that as a failure of its own.
func untyped(err error) bool {
	return err != nil && strings.Contains(err.Error(), "failed to create typed patch object")
}

// withoutSecrets returns the API server's error about a change with a text without secrets: it may quote what
// was sent.
func (c Change) withoutSecrets(err error) error {
	if text := fielddiff.Mask(err.Error(), c.Schema, c.Object, c.Observed); text != err.Error() {
		return WithText(err, text)
	}
	return err
}

// WithText returns an error that wraps err and has another text, without the text of err.
func WithText(err error, text string) error { return textError{err, text} }

type textError struct {
	error
	text string
}

// Error returns the text.
func (e textError) Error() string { return e.text }

// Unwrap returns the error that has another text.
func (e textError) Unwrap() error { return e.error }
