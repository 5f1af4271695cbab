package editor

import (
	"os"
	"strings"
	"sync"
)

// firstFrame is a terminal that reports when the input line is written to it for the first time.
// Before that, the renderer assumes that its frame (the rows that it draws) fills the whole
// terminal. Text that it inserted above such a frame would overwrite the lines of the shell.
type firstFrame struct {
	*os.File
	drawn  func() // must not block
	once   sync.Once
	writes func() // is called before each write; it must not block
}

func (f *firstFrame) Write(p []byte) (int, error) { return f.WriteString(string(p)) }

// WriteString implements io.StringWriter, which io.WriteString prefers.
func (f *firstFrame) WriteString(text string) (int, error) {
	f.writes()
	n, err := f.File.WriteString(text)
	if strings.Contains(text, strings.TrimSpace(promptText)) {
		f.once.Do(f.drawn)
	}
	return n, err
}
