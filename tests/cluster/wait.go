package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// eventually tries f at the given beat until it succeeds or the context ends.
// It is for what tells nobody when it is ready; where there is an event, wait for the event.
func eventually(ctx context.Context, beat time.Duration, what string, f func() error) error {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; the last try: %w", what, ctx.Err(), err)
		case <-ticker.C:
		}
	}
}

// logTail returns the last lines of a log file, for an error message.
func logTail(path string) string {
	const most = 4096
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(data) > most {
		data = data[len(data)-most:]
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	if len(lines) > 12 {
		lines = lines[len(lines)-12:]
	}
	return "    " + strings.Join(lines, "\n    ")
}
