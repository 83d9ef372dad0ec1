package apiserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestTransport checks that an answer can be read while it is written, and that its reader's end is the request's.
func TestTransport(t *testing.T) {
	lines, ended := make(chan string), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "sent" || r.RequestURI != "/path?query" {
			t.Errorf("%s %q: %v", r.RequestURI, body, err)
		}
		w.Header().Set("X-Before", "1")
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-After", "1")
		for line := range lines {
			fmt.Fprintln(w, line)
		}
		<-r.Context().Done()
	})
	request := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://memory/path?query", strings.NewReader("sent")))
	response, err := NewTransport(handler).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusTeapot || response.Header.Get("X-Before") == "" || response.Header.Get("X-After") != "" {
		t.Errorf("response: %d %v", response.StatusCode, response.Header)
	}
	reader := bufio.NewReader(response.Body)
	for _, want := range []string{"a", "b"} {
		lines <- want
		if got, err := reader.ReadString('\n'); err != nil || got != want+"\n" {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	close(lines)
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}

// TestTransportCancel checks that the end of a request's context ends it, before it is answered and while it is.
func TestTransportCancel(t *testing.T) {
	for n := range 4000 { // The end of the handler and that of the context come at once.
		isAnswered := n%2 == 0
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			if isAnswered {
				w.WriteHeader(http.StatusOK)
			} else {
				cancel()
			}
			<-r.Context().Done()
		})
		request := must[*http.Request](t)(http.NewRequestWithContext(ctx, http.MethodGet, "http://memory/", nil))
		response, err := NewTransport(handler).RoundTrip(request)
		if isAnswered {
			cancel()
			_, err = io.ReadAll(response.Body)
			response.Body.Close()
		}
		if <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("answered: %t: %v", isAnswered, err)
		}
	}
}
