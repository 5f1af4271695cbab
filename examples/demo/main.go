// Command demo demonstrates the runtime without a key and without a network. A scripted model repairs
// a small program with the real tools. The process is killed while a tool runs, and another process
// continues the run immediately. At the end the demo checks the scripted model's journal and the
// store: no model call was paid twice, and no finished tool ran twice.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// cutAt is the line in the tool's output after which the process is killed.
const cutAt = "round 2"

func main() {
	binary := flag.String("perdure", "bin/perdure", "the perdure binary")
	keep := flag.Bool("keep", false, "keep the folder with the workspace and the data")
	flag.Parse()
	if err := demo(*binary, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(binary string, keep bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	d, err := prepare(binary)
	if err != nil {
		return err
	}
	if keep {
		defer fmt.Println("kept in", d.folder)
	} else {
		defer os.RemoveAll(d.folder)
	}

	title("1. A run is started, and killed (SIGKILL) in the middle of a tool")
	if err := d.runAndKill(ctx); err != nil {
		return err
	}
	title("2. Another process goes on with it at once")
	id, err := d.newestRun(ctx)
	if err != nil {
		return err
	}
	resume := d.command(ctx, "resume", id)
	resume.Stdout, resume.Stderr = os.Stdout, os.Stderr
	if err := resume.Run(); err != nil {
		return fmt.Errorf("perdure resume %s: %w", id, err)
	}
	title("3. What was promised")
	return d.check(ctx, id)
}

func title(s string) { fmt.Printf("\n\033[1m━━ %s\033[0m\n\n", s) }

// demonstration is a folder with a copy of the broken program and a data directory.
type demonstration struct {
	binary, folder, scripts string
}

func prepare(binary string) (*demonstration, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	scripts, err := filepath.Abs("examples")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "perdure-demo-")
	if err != nil {
		return nil, err
	}
	d := &demonstration{binary: binary, folder: folder, scripts: scripts}
	return d, os.CopyFS(d.workspace(), os.DirFS("examples/workspace"))
}

func (d *demonstration) workspace() string { return filepath.Join(d.folder, "workspace") }
func (d *demonstration) journal() string   { return filepath.Join(d.folder, "journal.jsonl") }

// command returns a command of perdure on the demonstration's data directory.
func (d *demonstration) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	all := append([]string{name, "--data", filepath.Join(d.folder, "data")}, args...)
	if name == "run" || name == "resume" {
		all = append(all, "--workspace", d.workspace(), "--scripts", d.scripts)
	}
	c := exec.CommandContext(ctx, d.binary, all...)
	c.Env = append(os.Environ(), "PERDURE_SCRIPTED_JOURNAL="+d.journal())
	return c
}

func (d *demonstration) runAndKill(ctx context.Context) error {
	run := d.command(ctx, "run", "--model", "scripted/repair.script", "The tests of this package fail. Find out why and repair it.")
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	run.Stdout, run.Stderr = in, in
	if err := run.Start(); err != nil {
		return err
	}
	in.Close()
	killed := false
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		fmt.Print(line)
		if !killed && strings.TrimSpace(strings.TrimLeft(line, " │|")) == cutAt {
			killed = true
			if err := run.Process.Kill(); err != nil {
				return err
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return err
			}
			break
		}
	}
	if err := run.Wait(); err == nil || !killed {
		return fmt.Errorf("the run was not killed (%v); its output never said %q", err, cutAt)
	}
	fmt.Println("\n\033[31mKilled.\033[0m")
	return nil
}
