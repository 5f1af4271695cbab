package load

// MemberBytes is the maximum length, in bytes, of a key or a value in the index of metadata. A
// filter by a longer key or value does not use the index, but is compared with the metadata of each
// candidate.
const MemberBytes = 256

// IndexedMember reports whether the index of metadata contains members with this key and value:
// neither may be longer than MemberBytes.
func IndexedMember(key, value string) bool {
	return len(key) <= MemberBytes && len(value) <= MemberBytes
}
