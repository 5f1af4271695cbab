package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/server"
)

const serveIn = "PERDURE_TEST_SERVE"

// TestMain runs a server instead of the tests if a benchmark has started this program as a separate
// process. That process then contains only the server, so the benchmark can measure the server's
// memory.
func TestMain(m *testing.M) {
	if dir := os.Getenv(serveIn); dir != "" {
		if err := serveHere(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(opentest.Main(m))
}

func serveHere(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := server.Open(ctx, server.Config{Data: dir, GRPCAddr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if err := s.Listen(); err != nil {
		return err
	}
	fmt.Println(s.GRPCAddress(), s.Token(), s.Socket())
	return s.Run(ctx)
}

// BenchmarkLargeTransfer uploads 64 MiB to a server and downloads them. It reports the largest
// growth of the server's memory, and fails if this growth exceeds 32 MiB.
func BenchmarkLargeTransfer(b *testing.B) {
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), serveIn+"="+b.TempDir())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(line)
	w := dial(b, fields[0], fields[1])
	claim := w.start(func(ctx context.Context) error {
		c := client.Socket(fields[2], fields[1])
		defer c.Close()
		_, err := c.Start(ctx, client.StartRequest{Kind: "agent"})
		return err
	})
	value := content('b', huge)
	owner := perdure.BlobOwner{ExecutionID: claim.Lease.ExecutionID, Lease: &claim.Lease}
	w.put(owner, value[:1<<20]) // allocates the buffers that every transfer needs
	b.SetBytes(2 * huge)
	grown := 0
	for b.Loop() {
		before := resetPeak(b, cmd.Process.Pid)
		ref := w.put(owner, value)
		content, err := w.d.GetBlob(b.Context(), owner.ExecutionID, ref.ID)
		w.must(err)
		got, err := io.ReadAll(content)
		w.must(err)
		if !bytes.Equal(got, value) {
			b.Fatal("it comes back different")
		}
		grown = max(grown, peak(b, cmd.Process.Pid)-before)
	}
	b.ReportMetric(float64(grown)/(1<<20), "MiB-grown")
	if grown > 32<<20 {
		b.Errorf("the server grew by %d bytes", grown)
	}
}

var memory = regexp.MustCompile(`(?m)^(Vm\w+):\s+(\d+) kB`)

func status(b *testing.B, pid int) map[string]int {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	all := map[string]int{}
	for _, m := range memory.FindAllStringSubmatch(string(raw), -1) {
		n, _ := strconv.Atoi(m[2])
		all[m[1]] = n << 10
	}
	return all
}

// resetPeak resets the peak memory use that the kernel records for a process. It returns the bytes
// of memory that the process uses now.
func resetPeak(b *testing.B, pid int) int {
	b.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		b.Fatal(err)
	}
	return status(b, pid)["VmRSS"]
}

func peak(b *testing.B, pid int) int { return status(b, pid)["VmHWM"] }
