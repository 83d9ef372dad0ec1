package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// scrapeInterval is the time between two scrapes of RecordMetrics. A demonstration is short.
const scrapeInterval = time.Second

// scraped is a line of the file that RecordMetrics writes, as JSON.
type scraped struct {
	Time time.Time `json:"time"`
	// Text is what libretto exposed, in Prometheus' text format.
	Text string `json:"text"`
}

// RecordMetrics scrapes libretto, which has to be started, until Stop, and writes what it scraped in each line of the file.
func (s *Session) RecordMetrics(file string) error {
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("record of metrics: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- scrape(ctx, s.Libretto.MetricsText, json.NewEncoder(out)) }()
	s.stopScraping = func() error {
		cancel()
		return errors.Join(<-done, out.Close())
	}
	return nil
}

// scrape scrapes at once, after each interval, and when ctx ends.
func scrape(ctx context.Context, read func(context.Context) ([]byte, error), to *json.Encoder) error {
	ticker := time.NewTicker(scrapeInterval)
	defer ticker.Stop()
	for {
		text, err := read(context.WithoutCancel(ctx))
		if err == nil {
			err = to.Encode(scraped{Time: time.Now(), Text: string(text)})
		}
		if err != nil {
			return fmt.Errorf("record of metrics: %w", err)
		}
		if ctx.Err() != nil {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
