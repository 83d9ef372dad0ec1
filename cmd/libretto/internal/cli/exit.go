package cli

import (
	"context"
	"errors"
	"fmt"
)

// ExitError ends the program with an exit code. Without an error nothing is printed.
type ExitError struct {
	code int
	err  error
}

// Error returns the text of the error, if there is one.
func (e *ExitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the error, if there is one.
func (e *ExitError) Unwrap() error { return e.err }

// ExitWith returns an error that ends the program with an exit code. Without err nothing is printed.
func ExitWith(code int, err error) error { return &ExitError{code, err} }

// The exit codes of all commands.
const (
	ExitProblems = 1 // The command ran, and the result is not as wanted.
	ExitCannot   = 2 // The command could not be run, as errors are taken for that have no other code.
)

// Cannot makes an error one of exit code 2, also if that is a signal to stop.
func Cannot(err error) error {
	if err == nil {
		return nil
	}
	return ExitWith(ExitCannot, err)
}

// exitCode prints an error of a command and returns the exit code for it. A signal to stop is no error.
func exitCode(w Process, err error) int {
	code := ExitCannot
	var exit *ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.code
	case err == nil || errors.Is(err, context.Canceled):
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(w.Stderr, "libretto:", text)
	}
	return code
}
