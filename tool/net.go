package tool

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// Net says how far the network of commands reaches.
type Net string

const (
	// NetOpen is the network of the machine.
	NetOpen Net = "open"
	// NetLoopback is a loopback interface of the command's own: what the command
	// starts can speak to itself, and reaches nothing else.
	NetLoopback Net = "loopback"
	// NetNone is no network: the command cannot make a socket.
	NetNone Net = "none"
)

// nets are in order of strictness.
var nets = []Net{NetOpen, NetLoopback, NetNone}

// Check reports whether n is one of the constants or "", which is NetOpen. The
// error is invalid_argument and names the field.
func (n Net) Check(field string) error {
	if n != "" && !slices.Contains(nets, n) {
		return perdure.FieldErrorf(field, "%q is not one of open, loopback, none", string(n))
	}
	return nil
}

// stricter returns the one of both that allows less. What is unknown allows
// nothing.
func (n Net) stricter(other Net) Net {
	return max(n.rank(), other.rank()).net()
}

type netRank int

func (n Net) rank() netRank {
	if n == "" {
		return 0
	}
	if i := slices.Index(nets, n); i >= 0 {
		return netRank(i)
	}
	return netRank(len(nets) - 1)
}

func (r netRank) net() Net { return nets[r] }

// refused explains why a command does not run where n cannot be had.
func (n Net) refused(how string) string {
	return fmt.Sprintf("a network limited to %q needs %s; the command was not run", string(n), how)
}
