// Package editor is the line editor of a chat in a terminal. The input line stays below the output:
// what the program prints meanwhile is inserted above it.
package editor

import (
	"context"
	"errors"
	"os"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// Options configure an editor. Streams, Escape and Interrupt are required.
type Options struct {
	// Streams are the streams of the command. Standard input and output must be terminals.
	Streams terminal.Streams
	// History is the history of inputs; nil means none.
	History *History
	// Remembers reports whether a sent input belongs to the history; nil means that every input does.
	// It must not block.
	Remembers func(text string) bool
	// Complete returns the candidates for the word before the cursor; nil means none.
	Complete Completer
	// Escape is called when the user presses Esc while no menu is shown. It must not block.
	Escape func()
	// Interrupt is called when the user presses Ctrl-C; `again` reports whether the previous key
	// was also Ctrl-C. It must not block.
	Interrupt func(again bool)
}

// maxWaiting is the maximum number of sent inputs that the command has not read yet. While that
// many wait, the editor keeps the next input in the input line.
const maxWaiting = 32

// Editor is a line editor that runs until Close.
type Editor struct {
	o       Options
	program *tea.Program
	output  *output
	reflow  *reflow
	inputs  chan string
	ended   chan struct{} // closed when the program has ended
	err     error         // the program's error; valid when ended is closed
	restore func()
	close   sync.Once
}

// Usable reports whether the streams are a terminal that an editor can use.
func Usable(s terminal.Streams) bool {
	_, in := s.Stdin.(*os.File)
	return in && terminal.IsTerminal(s.Stdin) && terminal.IsTerminal(s.Stdout) && s.Stdout.Columns() > 0
}

// Start starts the editor. Until Close, all text that is written to the streams is shown above the
// input line.
func Start(o Options) *Editor {
	e := &Editor{o: o, inputs: make(chan string, maxWaiting), ended: make(chan struct{})}
	e.output = newOutput(o.Streams.Stdout)
	e.reflow = &reflow{device: e.output.device, wraps: wrapsRows(os.Getenv)}
	m := newModel(e)
	e.output.state = starting
	device := e.output.device
	if f, ok := device.(*os.File); ok { // else there is no terminal whose text could be overwritten
		device = &firstFrame{File: f, drawn: func() { go e.output.drawn() }, writes: e.reflow.draws}
	} else {
		e.output.state = running
	}
	e.program = tea.NewProgram(m, tea.WithInput(o.Streams.Stdin), tea.WithOutput(device), tea.WithoutSignalHandler(), tea.WithFilter(e.reflow.filter))
	e.output.send = e.program.Send
	e.restore = o.Streams.Redirect(e.output)
	go func() {
		defer close(e.ended)
		_, e.err = e.program.Run()
		close(e.inputs)
		e.output.end()
	}()
	return e
}

// Close ends the editor and restores the terminal. If an error has already ended the editor, Close
// returns that error.
func (e *Editor) Close() error {
	e.close.Do(func() {
		e.output.hold()
		e.program.Send(closing{})
		<-e.ended
		e.restore()
	})
	if errors.Is(e.err, tea.ErrProgramKilled) {
		return nil
	}
	return e.err
}

// Inputs returns the channel of the inputs that the user has entered. The channel is closed at the
// end of the input: the user has pressed Ctrl-D in an empty line, or the terminal is gone.
func (e *Editor) Inputs() <-chan string { return e.inputs }

// Read returns the next input. ok is false at the end of the input.
func (e *Editor) Read(ctx context.Context) (text string, ok bool, err error) {
	select {
	case text, ok = <-e.inputs:
		return text, ok, nil
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
}

// SetStatus sets the line below the input.
func (e *Editor) SetStatus(text string) { e.program.Send(statusMsg(terminal.Inline(text))) }

// SetQueue sets the entered inputs that wait until the run takes them. The editor shows them above
// the input line.
func (e *Editor) SetQueue(texts []string) { e.program.Send(queueMsg(texts)) }

// Suspend restores the terminal to its state before the editor and calls f, which may run another
// program. The editor continues when f returns.
func (e *Editor) Suspend(f func() error) error {
	e.output.hold()
	if err := e.program.ReleaseTerminal(); err != nil {
		return err
	}
	e.reflow.pause(true)
	failed := f()
	e.reflow.pause(false)
	err := e.program.RestoreTerminal()
	e.output.release()
	return errors.Join(failed, err)
}
