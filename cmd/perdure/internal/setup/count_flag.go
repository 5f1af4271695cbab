package setup

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// Unbounded is the greatest value of a CountFlag that has no upper bound.
const Unbounded = math.MaxInt

// countFlag is the value of a flag that takes a number from `least` to `most`.
type countFlag struct {
	n           *int
	least, most int
}

// CountFlag adds a flag that takes a number from `least` to `most`; its default is `value`. The
// flag refuses other numbers, with an error that names the range. `shorthand` is the one-letter
// name of the flag, "" if it has none.
func CountFlag(flags *pflag.FlagSet, n *int, name, shorthand string, value, least, most int, usage string) {
	*n = value
	flags.VarP(&countFlag{n, least, most}, name, shorthand, usage)
}

func (c *countFlag) String() string { return strconv.Itoa(*c.n) }

// Type implements pflag.Value.
func (c *countFlag) Type() string { return "int" }

// Set implements pflag.Value.
func (c *countFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n >= c.least && n <= c.most:
		*c.n = n
		return nil
	case c.most == Unbounded:
		return fmt.Errorf("it must be a number, at least %d", c.least)
	}
	return fmt.Errorf("it must be a number from %d to %d", c.least, c.most)
}
