package parent

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// maskSecrets returns the error of a hook without what the Secrets in its request hold. An engine's own
// errors quote values too, such as a text that is no number. The error is for users who may not read these.
func maskSecrets(err error, request map[string]any) error {
	var e *engines.Error
	if !errors.As(err, &e) {
		return err
	}
	secrets := secretTexts(request)
	if len(secrets) == 0 {
		return err
	}
	masker, masked := jsonvalue.NewMasker(secrets), *e
	masked.Message, masked.Stack = masker.Mask(e.Message), nil
	for _, line := range e.Stack {
		masked.Stack = append(masked.Stack, masker.Mask(line))
	}
	return &masked
}

// secretTexts returns what the Secrets in a request hold.
func secretTexts(request map[string]any) []string {
	return jsonvalue.SecretTexts(nil, request, func(jsonvalue.Path) bool { return false })
}

// maskAnswers takes what the observed Secrets hold out of the texts of answers that go into events, and cuts those that are too long.
// Those who may read events may not read Secrets.
func (p *pass) maskAnswers(desired *variant.Desired) {
	if len(desired.Events) == 0 && len(desired.Waits()) == 0 {
		return
	}
	masker := p.masker()
	mask := func(text *string) { *text = variant.MessageOf(masker.Mask(*text)) }
	for i := range desired.Events {
		mask(&desired.Events[i].Message)
	}
	for i := range desired.WaitingInputs {
		mask(&desired.WaitingInputs[i].Message)
	}
	if desired.Waiting != nil {
		mask(&desired.Waiting.Message)
	}
}

// masker returns what hides what the observed Secrets hold, wherever a hook has put it.
func (p *pass) masker() *jsonvalue.Masker {
	var secrets []string
	o := p.observed
	for _, objects := range [][]*unstructured.Unstructured{{o.Parent}, o.Children, o.Inputs, o.Related} {
		for _, object := range objects {
			if object != nil {
				secrets = append(secrets, secretTexts(object.Object)...)
			}
		}
	}
	return jsonvalue.NewMasker(secrets)
}
