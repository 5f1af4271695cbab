package pagecheck

// varint reads SQLite's variable-length integer of one to nine bytes. It also returns the length in
// bytes; 0 if the integer is not complete.
func varint(b []byte) (value uint64, n int) {
	for i, x := range b[:min(9, len(b))] {
		if i == 8 {
			return value<<8 | uint64(x), 9
		}
		value = value<<7 | uint64(x&0x7f)
		if x < 0x80 {
			return value, i + 1
		}
	}
	return 0, 0
}

// record reports whether the sizes in the header of a record add up to the record's length. `local`
// is the part of the record that is on the page. A header that continues on other pages is
// accepted.
func record(local []byte, length uint64) bool {
	header, n := varint(local)
	if n == 0 {
		return length > uint64(len(local)) && len(local) == 0
	}
	if header < uint64(n) || header > length {
		return false
	}
	if header > uint64(len(local)) {
		return length > uint64(len(local))
	}
	sum := header
	for rest := local[n:header]; len(rest) > 0; {
		kind, n := varint(rest)
		if n == 0 || kind == 10 || kind == 11 {
			return false
		}
		sum, rest = sum+valueSize(kind), rest[n:]
		if sum > length {
			return false
		}
	}
	return sum == length
}

// valueSize returns the size in bytes of a value with the given serial type of SQLite's file
// format.
func valueSize(kind uint64) uint64 {
	switch {
	case kind >= 12:
		return (kind - 12) / 2
	case kind == 5:
		return 6
	case kind == 6 || kind == 7:
		return 8
	case kind <= 4:
		return kind
	}
	return 0
}
