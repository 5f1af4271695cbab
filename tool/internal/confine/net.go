package confine

import "fmt"

// Net is the kind of network access that commands have, see tool.Net.
type Net int

// These are the levels of network access, from the widest to the narrowest.
const (
	NetOpen Net = iota
	NetLoopback
	NetNone
)

func (n Net) String() string { return [...]string{"open", "loopback", "none"}[n] }

// refused returns the reason why commands are refused if this machine cannot provide the level n.
// The parameter `how` says what the level requires.
func (n Net) refused(how string) string {
	return fmt.Sprintf("a network limited to %q needs %s; the command was not run", n, how)
}
