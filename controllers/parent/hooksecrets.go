package parent

import (
	"errors"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/jsonvalue"
)

// maskSecrets returns the error of a hook without what the Secrets in its request hold. An engine's own
// errors quote values too, such as a text that is no number. The error is for users who may not read these.
func maskSecrets(err error, request map[string]any) error {
	var e *engines.Error
	if !errors.As(err, &e) {
		return err
	}
	secrets := jsonvalue.SecretTexts(nil, request, func(jsonvalue.Path) bool { return false })
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
