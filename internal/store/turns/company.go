package turns

// Company tracks whether more than one org has recently asked for a place, such as one of the
// places that Turns gives to reads. Its zero value is ready to use. The times that are passed to
// its methods are any numbers that grow, such as the numbers of batches.
type Company struct {
	last, other ask // the latest ask, and the latest ask of an org other than last.org
}

type ask struct {
	org string
	at  int64
}

// lately is how long a request for a place counts as recent, in the unit of the methods' times.
const lately = 1024

// Asks records that an org asks for a place at the time `at`. The org "", which is the server
// process itself, does not count.
func (c *Company) Asks(org string, at int64) {
	switch {
	case org == "":
		return
	case org != c.last.org:
		c.other = c.last
	}
	c.last = ask{org, at}
}

// Present reports whether two different orgs have asked recently.
func (c *Company) Present(now int64) bool { return c.other.org != "" && now-c.other.at < lately }
