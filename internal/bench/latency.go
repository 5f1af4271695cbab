package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Latency measures how long a chunk takes from the provider to a reader. Many executions stream at
// the same time, each to one reader.
type Latency struct {
	Streams []int         // numbers of streams; one run per number
	Workers []string      // places of the worker: inprocess, grpc
	For     time.Duration // duration of each run
	Rate    float64       // chunks per second and stream
	Folder  string        // folder for the database; "" is the system's temporary folder
}

// Run measures each number of streams with each kind of worker (see Workers), and prints a table. It
// returns an error if any text was lost.
func (l Latency) Run(ctx context.Context, out io.Writer) error {
	return inFolder(l.Folder, func(all *stores) error {
		m, err := machine(all.folder)
		if err != nil {
			return err
		}
		m.print(out)
		fmt.Fprintln(out, "\n| worker | streams | chunks | p50 ms | p90 ms | p99 ms | max ms | chunks a record | provider late ms | lost |")
		fmt.Fprintln(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
		for _, where := range l.Workers {
			for _, n := range l.Streams {
				if err := delays(ctx, all, out, where, load{Executions: n, For: l.For, PerSecond: l.Rate}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// inFolder creates stores in a temporary folder, passes them to a function, and removes the folder
// afterwards.
func inFolder(parent string, do func(all *stores) error) (err error) {
	folder, err := os.MkdirTemp(parent, "perdure-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	return do(&stores{folder: folder})
}

// delays measures, with a new server, the delays of the chunks in one run.
func delays(ctx context.Context, all *stores, out io.Writer, where string, l load) (err error) {
	s, err := setUp(ctx, all, "sqlite", deploymentSpec{slots: l.Executions + 8, inProcess: where == inProcess, readers: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	streams, at, err := s.begin(ctx, l)
	if err != nil {
		return err
	}
	if err := s.readers.ask("follow", streams, nil); err != nil {
		return err
	}
	if late := time.Since(at); late > 0 {
		return fmt.Errorf("the chunks had begun %v before all streams were followed", late)
	}
	var got readerResults
	if err := s.readers.ask("heard", struct{}{}, &got); err != nil {
		return err
	}
	var said streamedText
	if err := s.worker.ask("said", workerArgs{}, &said); err != nil {
		return err
	}
	wrong := lost(said, got, streams)
	fmt.Fprintf(out, "| %s | %d | %d | %s | %s | %s | %s | %.2f | %s | %d |\n", where, l.Executions, got.Chunks,
		ms(quantile(got.Delays, 0.5)), ms(quantile(got.Delays, 0.9)), ms(quantile(got.Delays, 0.99)), ms(quantile(got.Delays, 1)),
		float64(got.Chunks)/float64(max(1, got.Records)), ms(said.Late), len(wrong))
	return checkNoLoss(wrong)
}

func checkNoLoss(wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%d streams went wrong, the first: %s", len(wrong), wrong[0])
}

// quantile returns a quantile of sorted durations.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
