package v1alpha1

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestFinalizer(t *testing.T) {
	long := strings.Repeat("a", 44)
	cases := map[string]struct{ reason, name, want string }{
		"short":   {"it is metacontroller's", "catset", "metacontroller.io/compositecontroller-catset"},
		"longest": {"also where it fits just so", long[:43], "metacontroller.io/compositecontroller-" + long[:43]},
		"long":    {"what the API server would refuse ends in a hash", long, "metacontroller.io/compositecontroller-" + long[:26] + "-16849877c6c21ef0"},
		"dotted":  {"a name may have dots wherever it is cut", strings.Repeat("a.", 100) + "a", "metacontroller.io/compositecontroller-" + strings.Repeat("a.", 13) + "-72ceeb616fcaad26"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			d := CompositeController{ObjectMeta: metav1.ObjectMeta{Name: c.name}}
			got := d.Finalizer()
			if got != c.want {
				t.Errorf("finalizer %s, want %s", got, c.want)
			}
			if problems := validation.IsQualifiedName(got); len(problems) > 0 {
				t.Errorf("the API server refuses %s: %v", got, problems)
			}
		})
	}
	a, b := CompositeController{ObjectMeta: metav1.ObjectMeta{Name: long + "a"}}, CompositeController{ObjectMeta: metav1.ObjectMeta{Name: long + "b"}}
	if a.Finalizer() == b.Finalizer() {
		t.Errorf("two definitions have one finalizer, %s", a.Finalizer())
	}
}

func TestRevisionLabelValue(t *testing.T) {
	for name, want := range map[string]string{
		"catset":                  "catset",
		strings.Repeat("a", 63):   strings.Repeat("a", 63),
		strings.Repeat("a.", 100): strings.Repeat("a.", 23) + "-10a60568086c8b3e",
	} {
		d := CompositeController{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if got := d.RevisionLabelValue(); got != want || len(validation.IsValidLabelValue(got)) > 0 {
			t.Errorf("label of %s is %s, want %s", name, got, want)
		}
	}
}
