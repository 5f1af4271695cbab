package pagecheck

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/perdure/perdure/internal/disk"
)

// Mark is a small file next to a database that exists while a process has the database open for
// writing. If the process ends without closing the database, the mark remains until the database
// has passed a check.
type Mark struct{ Path string }

// MarkOf returns the mark of the database at path.
func MarkOf(path string) Mark { return Mark{path + ".unchecked"} }

// State is the state of a database according to its mark.
type State int

// These are the states of a database.
const (
	Checked   State = iota // closed normally; there is no mark
	Open                   // without known damage, and in use, or in use when the process ended
	Unchecked              // not closed normally, and not checked since
	Damaged                // the last check found damage
)

var stateWords = map[State]string{Open: "open", Unchecked: "unchecked", Damaged: "damaged"}

// Read returns the state in the mark; it is Checked if there is no mark.
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

// Write records durably that the database is Open, Unchecked or Damaged.
func (m Mark) Write(state State) error {
	return disk.WriteFile(m.Path, []byte(stateWords[state]+"\n"))
}

// Remove removes the mark after a normal close. If a power failure brings the mark back, the
// database is only checked once more.
func (m Mark) Remove() error {
	if err := os.Remove(m.Path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
