package main

import (
	"context"
	"errors"
	"fmt"
)

// exitError ends the program with an exit code. Without an error nothing is printed.
type exitError struct {
	code int
	err  error
}

// Error returns the text of the error, if there is one.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the error, if there is one.
func (e *exitError) Unwrap() error { return e.err }

// exitWith returns an error that ends the program with an exit code. Without err nothing is printed.
func exitWith(code int, err error) error { return &exitError{code, err} }

// The exit codes of all commands but serve.
const (
	exitProblems = 1 // The command ran, and the result is not as wanted.
	exitCannot   = 2 // The command could not be run.
)

// cannot makes an error one of exit code 2.
func cannot(err error) error {
	if err == nil {
		return nil
	}
	return exitWith(exitCannot, err)
}

// exitCode prints an error of a command and returns the exit code for it. To be told to stop is no error.
func exitCode(w process, err error) int {
	code := 1
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		code = exit.code
	case err == nil || errors.Is(err, context.Canceled):
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(w.stderr, "libretto:", text)
	}
	return code
}
