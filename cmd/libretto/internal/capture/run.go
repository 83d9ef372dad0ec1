package capture

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
)

// failure is why a case fails.
type failure struct{ Check, Message string }

// caseTimeout is how long a case may take.
const caseTimeout = 30 * time.Second

// run runs a file as libretto test does.
func (w *writer) run(ctx context.Context, text []byte) ([]failure, error) {
	directory, err := os.MkdirTemp("", "libretto-capture-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	file := filepath.Join(directory, "captured"+controllertest.FileSuffix)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	var failures []failure
	_, err = suite.Run(ctx, suite.Options{
		Cases: []string{file}, Engines: w.Engines, Parallel: 1, Timeout: caseTimeout, Warn: func(string) {},
		Report: func(result controllertest.Result) {
			for _, f := range result.Failures {
				failures = append(failures, failure{string(f.Check), f.Message})
			}
		},
	})
	return failures, err
}
