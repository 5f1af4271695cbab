package admin

import (
	"fmt"
	"strconv"
	"strings"
)

// byteCount is a flag for a number of bytes, with the units K, M, G and T (powers of 1024).
type byteCount int64

const byteUnits = "KMGT"

func (b *byteCount) String() string { return byteText(int64(*b)) }

// Type implements pflag.Value.
func (b *byteCount) Type() string { return "bytes" }

// Set implements pflag.Value.
func (b *byteCount) Set(text string) error {
	digits, shift := text, 0
	if n := len(text) - 1; n > 0 {
		if unit := strings.IndexByte(byteUnits, text[n]&^0x20); unit >= 0 && text[n] >= 'A' {
			digits, shift = text[:n], 10*(unit+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > (1<<53)>>shift {
		return fmt.Errorf("%q is no number of bytes; write 1000000, 500M or 2G", text)
	}
	*b = byteCount(n << shift)
	return nil
}

func byteText(n int64) string {
	for unit := len(byteUnits); unit > 0; unit-- {
		if size := int64(1) << (10 * unit); n >= size {
			return strconv.FormatFloat(float64(n)/float64(size), 'g', 3, 64) + byteUnits[unit-1:unit]
		}
	}
	return strconv.FormatInt(n, 10)
}
