package main

import (
	"context"
	"errors"
	"fmt"
)

// await waits until what the watch has seen passes the check, for as long as the demo's limit allows.
func (d *demo) await(ctx context.Context, expected string, c check) error {
	return d.out.during("waiting until "+expected, func() error {
		ctx, cancel := context.WithTimeout(ctx, d.limit)
		defer cancel()
		seen, err := d.watch.await(ctx, c, d.libretto.Ended)
		if errors.Is(err, context.DeadlineExceeded) {
			return unmet{expected: expected, limit: d.limit, seen: seen}
		}
		if err != nil {
			return fmt.Errorf("expected %s: %w; last seen: %s", expected, err, seen)
		}
		return nil
	})
}
