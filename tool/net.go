package tool

import (
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool/internal/confine"
)

// Net is the kind of network access that commands have.
type Net string

const (
	// NetOpen lets commands use the machine's network.
	NetOpen Net = "open"
	// NetLoopback gives each command a separate loopback interface: its processes can connect only
	// to each other.
	NetLoopback Net = "loopback"
	// NetNone denies commands all network access: they cannot create sockets, except connected
	// pairs of Unix sockets.
	NetNone Net = "none"
)

// nets are the values of Net from the widest access to the narrowest, in the order of confine.Net.
var nets = []Net{NetOpen, NetLoopback, NetNone}

// Check returns an invalid_argument error, with the given name of the field, unless n is "" or one
// of the constants. The value "" means NetOpen.
func (n Net) Check(field string) error {
	if n != "" && !slices.Contains(nets, n) {
		return perdure.FieldErrorf(field, "%q is not one of open, loopback, none", string(n))
	}
	return nil
}

// level returns the level of package confine for the value n. An unknown value counts as NetNone.
func (n Net) level() confine.Net {
	if n == "" {
		return confine.NetOpen
	}
	if i := slices.Index(nets, n); i >= 0 {
		return confine.Net(i)
	}
	return confine.NetNone
}
