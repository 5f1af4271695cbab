package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// latency measures how long a chunk takes from the provider to a reader.
func latency(ctx context.Context, args []string) error {
	var (
		streams = "1,10,50,1000"
		over    = "grpc,process"
		dir     string
		l       load
	)
	if err := flags("latency", args, func(f *flag.FlagSet) {
		f.StringVar(&streams, "streams", streams, "how many executions stream at once; each list item is a run of its own")
		f.StringVar(&over, "over", over, "where the worker is: grpc (a process of its own), process (the server's)")
		f.DurationVar(&l.For, "for", 20*time.Second, "how long each run streams")
		f.Float64Var(&l.PerSecond, "rate", 5, "chunks a second of each stream")
		f.StringVar(&dir, "dir", "", "folder for the database (default: the system's temporary folder)")
	}); err != nil {
		return err
	}
	fmt.Println(about())
	fmt.Println("| worker | streams | chunks | p50 ms | p90 ms | p99 ms | max ms | chunks a record | provider late ms | lost |")
	fmt.Println("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for where := range strings.SplitSeq(over, ",") {
		for n := range strings.SplitSeq(streams, ",") {
			var err error
			if l.Executions, err = strconv.Atoi(n); err != nil {
				return err
			}
			if err := delays(ctx, dir, where, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// delays makes one run, on a server of its own.
func delays(ctx context.Context, dir, where string, l load) (err error) {
	s, err := setUp(ctx, dir, l.Executions+8, where == "process")
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
	var got heard
	if err := s.readers.ask("heard", struct{}{}, &got); err != nil {
		return err
	}
	var said words
	if err := s.worker.ask("said", struct{}{}, &said); err != nil {
		return err
	}
	wrong := lost(said, got, streams)
	fmt.Printf("| %s | %d | %d | %s | %s | %s | %s | %.2f | %s | %d |\n", where, l.Executions, got.Chunks,
		ms(quantile(got.Delays, 0.5)), ms(quantile(got.Delays, 0.9)), ms(quantile(got.Delays, 0.99)), ms(quantile(got.Delays, 1)),
		float64(got.Chunks)/float64(max(1, got.Records)), ms(said.Late), len(wrong))
	return notLost(wrong)
}

func notLost(wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%d streams went wrong, the first: %s", len(wrong), wrong[0])
}

// quantile is of sorted durations.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
