package dev

import (
	"math"
	"net/url"
	"testing"
	"time"
)

func TestLogOptions(t *testing.T) {
	for query, want := range map[string]logOptions{
		"":                                     {tail: math.MaxInt},
		"follow=true&timestamps=1&tailLines=3": {follow: true, timestamps: true, tail: 3},
		"sinceTime=2026-01-02T03:04:05Z":       {tail: math.MaxInt, since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := logOptionsOf(values); err != nil || got != want {
			t.Errorf("%s: %+v, error %v, want %+v", query, got, err, want)
		}
	}
	for _, query := range []string{"follow=maybe", "tailLines=-1", "sinceTime=today", "sinceSeconds=long", "sinceSeconds=x&sinceTime=today"} {
		values, _ := url.ParseQuery(query)
		if got, err := logOptionsOf(values); err == nil {
			t.Errorf("%s: %+v, want an error", query, got)
		}
	}
}
