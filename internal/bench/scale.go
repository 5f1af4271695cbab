package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// scaleRun is one run of the experiment Scale.
type scaleRun struct {
	load
	idle   int
	rounds int
	keep   string // folder for profiles

	inProcess bool
	out       io.Writer

	*deployment
	idlers []followTarget
	rows   map[bool][]scaleResult // results of the rounds; the key says whether the round had readers
}

// scaleResult has the measurements of one round.
type scaleResult struct {
	chunks         int
	writer, server time.Duration // CPU time of the writing, and of the whole process
	worker         time.Duration
	perIdle        int // bytes per idle reader
	p50, p99       time.Duration
	late           time.Duration // maximum delay of a chunk at the provider
	lost           []string
}

// Scale is the experiment that alternates between two kinds of rounds. In the one kind, executions
// stream text that nobody reads. In the other, one reader reads each stream, and many more readers
// wait for executions that write nothing.
type Scale struct {
	Executions int           // streaming executions, each with one reader
	Idle       int           // executions that write nothing, each with one reader
	For        time.Duration // duration of each run
	Rate       float64       // chunks per second and stream
	Rounds     int           // number of rounds without readers, and of rounds with readers
	Worker     string        // inprocess or grpc
	Folder     string        // folder for the database; "" is the system's temporary folder
	Profiles   string        // folder for profiles; "" writes none
}

// Run measures what many readers of logs cost, and prints the results as tables. It fails if a reader
// misses a chunk.
func (c Scale) Run(ctx context.Context, out io.Writer) error {
	return inFolder(c.Folder, func(all *stores) error {
		s := &scaleRun{
			load: load{Executions: c.Executions, For: c.For, PerSecond: c.Rate}, idle: c.Idle, rounds: c.Rounds,
			keep: c.Profiles, inProcess: c.Worker == inProcess, out: out, rows: map[bool][]scaleResult{},
		}
		s.fit()
		m, err := machine(all.folder)
		if err != nil {
			return err
		}
		m.print(out)
		return s.run(ctx, all)
	})
}

// fit reduces the numbers of executions and of idle readers in proportion, so that the connections
// stay within this machine's limit of open files.
func (s *scaleRun) fit() {
	const others = 200 // open files of the database and the worker, and standard streams
	room := files() - others
	if s.Executions+s.idle <= room {
		return
	}
	before := s.Executions + s.idle
	part := float64(room) / float64(before)
	s.Executions, s.idle = int(float64(s.Executions)*part), int(float64(s.idle)*part)
	fmt.Fprintf(s.out, "NOTE: a process may have %d files open here (ulimit -Hn); %d readers need %d more. Reduced to %d executions and %d idle readers.\n",
		files(), before, before+others-files(), s.Executions, s.idle)
}

func (s *scaleRun) run(ctx context.Context, all *stores) (err error) {
	if s.deployment, err = setUp(ctx, all, "sqlite", deploymentSpec{slots: s.Executions + 8, inProcess: s.inProcess, readers: true}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if s.idlers, err = s.beginIdle(ctx, s.idle); err != nil {
		return err
	}
	if _, err := s.round(ctx, false, min(5*time.Second, s.For)); err != nil { // warm-up
		return err
	}
	fmt.Fprintln(s.out, "| readers | chunks | writer µs/chunk | server µs/chunk | worker µs/chunk | bytes/idle reader | p50 ms | p99 ms | provider late ms | lost |")
	fmt.Fprintln(s.out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for range s.rounds {
		for _, with := range []bool{false, true} {
			r, err := s.round(ctx, with, s.For)
			if err != nil {
				return err
			}
			s.rows[with] = append(s.rows[with], r)
			r.print(s.out, with)
		}
	}
	return s.sum()
}

func (r scaleResult) print(out io.Writer, with bool) {
	fmt.Fprintf(out, "| %v | %d | %.1f | %.1f | %.1f | %d | %s | %s | %s | %d |\n", map[bool]string{true: "idle and active", false: "none"}[with], r.chunks,
		perChunk(r.writer, r), perChunk(r.server, r), perChunk(r.worker, r), r.perIdle, ms(r.p50), ms(r.p99), ms(r.late), len(r.lost))
}

func perChunk(d time.Duration, r scaleResult) float64 {
	return float64(d.Microseconds()) / float64(max(1, r.chunks))
}

// sum prints the medians over all rounds. It fails if a reader missed a chunk.
func (s *scaleRun) sum() error {
	median := func(with bool, of func(scaleResult) float64) float64 {
		var all []float64
		for _, r := range s.rows[with] {
			all = append(all, of(r))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	writer := func(r scaleResult) float64 { return perChunk(r.writer, r) }
	whole := func(r scaleResult) float64 { return perChunk(r.server, r) }
	fmt.Fprintf(s.out, "medians: the writer's CPU per chunk with readers is %.2f of that without, the server's %.2f; %.0f bytes an idle reader\n",
		median(true, writer)/median(false, writer), median(true, whole)/median(false, whole),
		median(true, func(r scaleResult) float64 { return float64(r.perIdle) }))
	var wrong []string
	for _, r := range s.rows[true] {
		wrong = append(wrong, r.lost...)
	}
	return checkNoLoss(wrong)
}

// round measures one round. The parameter `with` says whether readers are connected, and `long` is
// the duration of the streams.
func (s *scaleRun) round(ctx context.Context, with bool, long time.Duration) (r scaleResult, err error) {
	if with {
		if r.perIdle, err = s.idleReaders(); err != nil {
			return r, err
		}
	}
	l := s.load
	l.For = long
	streams, at, err := s.begin(ctx, l)
	if err != nil {
		return r, err
	}
	if with {
		if err := s.readers.ask("follow", streams, nil); err != nil {
			return r, err
		}
	}
	if late := time.Since(at); late > 0 {
		return r, fmt.Errorf("the chunks had begun %v before all was ready", late)
	}
	if err := pause(ctx, time.Until(at)); err != nil {
		return r, err
	}
	r.chunks = l.Executions * l.chunks()
	if err := s.measure(ctx, at.Add(long), &r); err != nil {
		return r, err
	}
	return r, s.hear(ctx, with, streams, &r)
}

// idleReaders connects the readers of executions that write nothing. It returns how many bytes of
// the server's memory each of these readers needs.
func (s *scaleRun) idleReaders() (int, error) {
	var before, after resourceUsage
	if err := s.server.ask("used", true, &before); err != nil {
		return 0, err
	}
	if err := s.readers.ask("follow", s.idlers, nil); err != nil {
		return 0, err
	}
	if err := s.server.ask("used", true, &after); err != nil {
		return 0, err
	}
	if s.keep != "" {
		if err := s.server.ask("heap", filepath.Join(s.keep, "idle.heap"), nil); err != nil {
			return 0, err
		}
		fmt.Fprintf(s.out, "idle: heap %d, stacks %d, others %d bytes and %.2f goroutines each\n", int(after.Heap-before.Heap)/s.idle,
			int(after.Stacks-before.Stacks)/s.idle, (int(after.Others)-int(before.Others))/s.idle, float64(after.Goroutines-before.Goroutines)/float64(s.idle))
	}
	return int(after.Heap+after.Stacks+after.Others-before.Heap-before.Stacks-before.Others) / max(1, s.idle), nil
}

// measure waits until the time at which the chunks end. It stores in r the CPU times of the server,
// the worker and the writing of chunks since measure was called. The CPU time of the writing comes
// from a CPU profile of the server.
func (s *scaleRun) measure(ctx context.Context, until time.Time, r *scaleResult) error {
	folder := s.keep
	if folder == "" {
		folder = s.database.folder
	}
	profile := filepath.Join(folder, fmt.Sprintf("cpu-%d.pprof", s.streams))
	var before, after, workerBefore, workerAfter resourceUsage
	for _, step := range []func() error{
		func() error { return s.server.ask("profile", profile, nil) },
		func() error { return s.server.ask("used", false, &before) },
		func() error { return s.worker.ask("used", false, &workerBefore) },
		func() error { return pause(ctx, time.Until(until)) },
		func() error { return s.server.ask("used", false, &after) },
		func() error { return s.worker.ask("used", false, &workerAfter) },
		func() error { return s.server.ask("profile", "", nil) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	r.server, r.worker = after.CPU-before.CPU, workerAfter.CPU-workerBefore.CPU
	var err error
	r.writer, err = share(ctx, profile)
	return err
}

// writing is a pattern for the names of the functions that write chunks: the committer and its callers.
const writing = `sqlite\.\(\*committer\)\.run|face/grpc\.\(\*workerService\)\.append|engine\.\(\*Engine\)\.appendFrames`

var accounting = regexp.MustCompile(`Showing nodes accounting for ([0-9.]+[a-zµ]+)`)

// share returns the CPU time that a profile attributes to the functions whose names match the
// pattern `writing`.
func share(ctx context.Context, profile string) (time.Duration, error) {
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-unit=ms", "-nodecount=0", "-nodefraction=0", "-focus="+writing, profile).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("go tool pprof: %w: %s", err, out)
	}
	m := accounting.FindStringSubmatch(string(out))
	if m == nil {
		return 0, fmt.Errorf("go tool pprof said %s", out)
	}
	return time.ParseDuration(strings.TrimSpace(m[1]))
}

// hear waits until the streaming executions have completed. If readers are connected (the parameter
// `with`), hear compares the text that the readers received with the text that the worker sent.
func (s *scaleRun) hear(ctx context.Context, with bool, streams []followTarget, r *scaleResult) error {
	if err := s.finished(ctx, streams); err != nil {
		return err
	}
	var said streamedText
	if err := s.worker.ask("said", workerArgs{}, &said); err != nil {
		return err
	}
	r.late = said.Late
	if !with {
		return nil
	}
	// Only the readers of streaming executions end by themselves. The request stops the idle readers.
	var got readerResults
	if err := s.readers.ask("leave", len(streams), &got); err != nil {
		return err
	}
	r.p50, r.p99 = quantile(got.Delays, 0.5), quantile(got.Delays, 0.99)
	r.lost = lost(said, got, streams)
	if want := s.idle; got.Idle != want {
		r.lost = append(r.lost, fmt.Sprintf("%d idle readers were given what there was, want %d", got.Idle, want))
	}
	return nil
}
