package pagecheck

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/perdure/perdure/internal/disk"
)

// Mark is a small file beside a database. It is there while somebody has the database
// open to write, after an end that was not orderly, and until the database has passed
// a check after that.
type Mark struct{ Path string }

// MarkOf returns the mark of the database at path.
func MarkOf(path string) Mark { return Mark{path + ".unchecked"} }

// State is what a mark says of its database.
type State int

// The states of a database.
const (
	Checked   State = iota // it was closed in order, and there is no mark
	Open                   // it is sound and in use, or was when the process died
	Unchecked              // it was not closed in order, and has not passed a check since
	Damaged                // the last check found damage
)

var stateWords = map[State]string{Open: "open", Unchecked: "unchecked", Damaged: "damaged"}

// Read returns the state that the mark notes.
func (m Mark) Read() (State, error) {
	raw, err := os.ReadFile(m.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Checked, nil
	}
	for state, word := range stateWords {
		if err == nil && strings.HasPrefix(string(raw), word) {
			return state, nil
		}
	}
	return Unchecked, err
}

// Write makes it durable that the database is open, unchecked or damaged.
func (m Mark) Write(state State) error {
	return disk.WriteFile(m.Path, []byte(stateWords[state]+"\n"))
}

// Remove notes an orderly end. A loss of power may bring the mark back, which costs a
// check.
func (m Mark) Remove() error {
	if err := os.Remove(m.Path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
