package tool

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// Net is the network access of commands.
type Net string

const (
	// NetOpen is the machine's network.
	NetOpen Net = "open"
	// NetLoopback is a separate loopback interface: the processes of a command can connect only to
	// each other.
	NetLoopback Net = "loopback"
	// NetNone is no network: the command cannot create sockets, except connected pairs of Unix
	// sockets.
	NetNone Net = "none"
)

// nets are ordered from the least to the most strict.
var nets = []Net{NetOpen, NetLoopback, NetNone}

// Check returns an invalid_argument error that names field unless n is one of the constants or "".
// "" is NetOpen.
func (n Net) Check(field string) error {
	if n != "" && !slices.Contains(nets, n) {
		return perdure.FieldErrorf(field, "%q is not one of open, loopback, none", string(n))
	}
	return nil
}

// stricter returns the stricter of n and other. An unknown value counts as NetNone.
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

// refused returns the reason why a command does not run if n is not available. how says what n
// requires.
func (n Net) refused(how string) string {
	return fmt.Sprintf("a network limited to %q needs %s; the command was not run", string(n), how)
}
