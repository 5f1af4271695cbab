package dial

import (
	"net/netip"
	"testing"
)

func TestAddresses(t *testing.T) {
	strict := Policy{}
	dev := Policy{AllowLoopback: true}
	configured := Policy{AllowHosts: []string{"models.corp", "169.254.169.254"}}
	for _, c := range []struct {
		address                 string
		strict, dev, configured bool
	}{
		{"93.184.216.34", true, true, true},
		{"2606:2800:220:1::1", true, true, true},
		{"127.0.0.1", false, true, true},
		{"::1", false, true, true},
		{"::ffff:127.0.0.1", false, true, true},
		{"10.1.2.3", false, false, true},
		{"172.16.0.1", false, false, true},
		{"192.168.1.1", false, false, true},
		{"::ffff:192.168.1.1", false, false, true},
		{"64:ff9b::c0a8:101", false, false, true},
		{"fd00::1", false, false, true},
		{"100.64.0.1", false, false, true},
		{"64:ff9b:1::a01:203", false, false, true}, // NAT64 in a local prefix
		{"64:ff9b:1:ffff::a9fe:a9fe", false, false, false},
		{"2002:a01:203::1", false, false, true}, // 6to4
		{"2002:a9fe:a9fe::", false, false, false},
		{"2002:7f00:1::", false, true, true},
		{"::10.1.2.3", false, false, true}, // IPv4-compatible
		{"::169.254.169.254", false, false, false},
		{"2001:0:a00:1::f5fe:fdfc", false, false, false}, // Teredo, which contains 10.1.2.3
		{"fec0::1", false, false, true},                  // site-local, the predecessor of fd00
		{"198.18.0.1", false, false, true},
		{"192.0.0.192", false, false, true}, // metadata service of a cloud
		{"255.255.255.255", false, false, false},
		{"240.0.0.1", false, false, false},
		{"100.100.100.200", false, false, true},
		{"fd00:ec2::254", false, false, true},
		{"169.254.169.254", false, false, false},
		{"fe80::1", false, false, false},
		{"64:ff9b::a9fe:a9fe", false, false, false},
		{"0.0.0.0", false, false, false},
		{"::", false, false, false},
		{"224.0.0.1", false, false, false},
	} {
		addr := netip.MustParseAddr(c.address)
		for name, p := range map[string]struct {
			policy Policy
			want   bool
		}{"strict": {strict, c.strict}, "dev": {dev, c.dev}, "configured": {configured, c.configured}} {
			if got := p.policy.Permits("Models.corp", addr); got != p.want {
				t.Errorf("%s, %s: %v, want %v", c.address, name, got, p.want)
			}
		}
	}
	metadata := netip.MustParseAddr("169.254.169.254")
	if !configured.Permits("169.254.169.254", metadata) {
		t.Error("an address that the operator wrote out is meant")
	}
	if configured.Permits("other.example", netip.MustParseAddr("10.1.2.3")) {
		t.Error("a host that is not configured reached a private address")
	}
}
