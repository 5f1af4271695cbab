package editor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

const (
	// maxHistory is the maximum number of inputs of a history.
	maxHistory = 1000
	// maxHistoryBytes is the maximum size of a history's file. If the file is larger, the oldest inputs
	// are dropped.
	maxHistoryBytes = 1 << 20
	// maxHistoryEntry is the maximum length in bytes of an input that is stored.
	maxHistoryEntry = 16 << 10
)

// History is the inputs of earlier chats, oldest first. Its file has a JSON string on each line. A
// history without a path exists only in memory.
type History struct {
	path  string
	lines []string
}

// OpenHistory reads a history. If the file does not exist, the history is empty; lines that do not
// decode are skipped. If the file is over its limits, OpenHistory shortens it.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path}
	if path == "" {
		return h, nil
	}
	raw, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	long := len(raw) > maxHistoryBytes
	raw = raw[max(0, len(raw)-maxHistoryBytes):]
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, maxHistoryBytes)
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil && text != "" {
			h.lines = append(h.lines, text)
		}
	}
	if extra := len(h.lines) - maxHistory; extra > 0 || long {
		h.lines = slices.Delete(h.lines, 0, max(extra, 0))
		return h, h.rewrite()
	}
	return h, nil
}

// Add appends an input, unless it equals the last one. Two chats may append to one file.
func (h *History) Add(text string) error {
	if text == "" || len(text) > maxHistoryEntry || len(h.lines) > 0 && h.lines[len(h.lines)-1] == text {
		return nil
	}
	h.lines = append(h.lines, text)
	if len(h.lines) > maxHistory {
		h.lines = slices.Delete(h.lines, 0, 1)
	}
	if h.path == "" {
		return nil
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(encodeLine(text))
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func encodeLine(text string) []byte {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return append(raw, '\n')
}

// rewrite replaces the content of the file by the inputs in h.lines.
func (h *History) rewrite() error {
	f, err := os.CreateTemp(filepath.Dir(h.path), filepath.Base(h.path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails after the rename, when the file has its final name
	var all bytes.Buffer
	for _, text := range h.lines {
		all.Write(encodeLine(text))
	}
	_, err = f.Write(all.Bytes())
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), h.path)
}

// recall walks through a history with the keys up and down.
type recall struct {
	history *History
	at      int    // index of the shown input; len(lines) is the draft
	draft   string // the input line's text before the walk
}

func newRecall(h *History) recall {
	if h == nil {
		h = &History{}
	}
	return recall{history: h, at: len(h.lines)}
}

// add stores an input. If the file cannot be written, the history continues in memory.
func (r *recall) add(text string) {
	_ = r.history.Add(text)
	r.reset()
}

// reset ends the walk through the history. The text in the input line is then a new input, not one
// from the history.
func (r *recall) reset() { r.at = len(r.history.lines) }

// recalls shows the previous or the next input of the history, if the cursor is in the first or the
// last line of the input. It reports whether it did.
func (m *model) recalls(previous bool) bool {
	r := &m.recall
	last := len(r.history.lines)
	switch {
	case previous && (m.area.Line() > 0 || r.at == 0):
		return false
	case !previous && (m.area.Line() < m.area.LineCount()-1 || r.at >= last):
		return false
	}
	if r.at == last {
		r.draft = m.area.Value()
	}
	at := r.at + 1
	if previous {
		at = r.at - 1
	}
	text := r.draft
	if at < last {
		text = r.history.lines[at]
	}
	m.set(text)
	r.at = at
	return true
}
