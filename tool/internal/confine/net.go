package confine

import "fmt"

// Net is the kind of network access that commands have, see tool.Net.
type Net int

// The levels of network access, from the least to the most strict.
const (
	NetOpen Net = iota
	NetLoopback
	NetNone
)

func (n Net) String() string { return [...]string{"open", "loopback", "none"}[n] }

// refused returns the reason why commands are refused if this level is not available. The parameter
// how says what the level requires.
func (n Net) refused(how string) string {
	return fmt.Sprintf("a network limited to %q needs %s; the command was not run", n, how)
}
