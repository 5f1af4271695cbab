package load

// MemberBytes is the maximum length of an indexed key or value of metadata, in bytes. A filter by a
// longer one is compared with the metadata of each candidate.
const MemberBytes = 256

// IndexedMember reports whether a member of metadata is indexed.
func IndexedMember(key, value string) bool {
	return len(key) <= MemberBytes && len(value) <= MemberBytes
}
