package turns

// Company knows whether more than one org has asked lately. Its zero value is ready.
// Moments are numbers that grow, as that of a batch does.
type Company struct {
	last, other ask // the newest ask, and that of another org
}

type ask struct {
	org string
	at  int64
}

// lately is how many moments an org counts after its last ask.
const lately = 1024

// Asks notes that an org asks. The process itself, org "", is no company.
func (c *Company) Asks(org string, at int64) {
	switch {
	case org == "":
		return
	case org != c.last.org:
		c.other = c.last
	}
	c.last = ask{org, at}
}

// Present reports whether two orgs have asked lately.
func (c *Company) Present(now int64) bool { return c.other.org != "" && now-c.other.at < lately }
