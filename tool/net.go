package tool

import (
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool/internal/confine"
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

// nets are ordered from the least to the most strict, like the values of confine.Net.
var nets = []Net{NetOpen, NetLoopback, NetNone}

// Check returns an invalid_argument error that names field unless n is one of the constants or "".
// "" is NetOpen.
func (n Net) Check(field string) error {
	if n != "" && !slices.Contains(nets, n) {
		return perdure.FieldErrorf(field, "%q is not one of open, loopback, none", string(n))
	}
	return nil
}

// level returns n as commands are confined by it. An unknown value counts as NetNone.
func (n Net) level() confine.Net {
	if n == "" {
		return confine.NetOpen
	}
	if i := slices.Index(nets, n); i >= 0 {
		return confine.Net(i)
	}
	return confine.NetNone
}
