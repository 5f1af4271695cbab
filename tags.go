package perdure

import (
	"slices"
	"strings"
	"unicode"
)

const (
	// MaxTags is the maximum number of tags of a kind.
	MaxTags = 20
	// MaxTagBytes is the maximum size of a tag, in bytes.
	MaxTagBytes = 64
)

// CheckTags returns an error if there are more than MaxTags tags, or if one occurs twice. It also
// refuses a tag that is empty, is longer than MaxTagBytes, or contains a comma or a space. Errors:
// invalid_argument, with the name of the field.
func CheckTags(field string, tags []string) error {
	if len(tags) > MaxTags {
		return FieldErrorf(field, "are %d; a kind has %d at most", len(tags), MaxTags)
	}
	for i, tag := range tags {
		switch {
		case tag == "" || len(tag) > MaxTagBytes:
			return FieldErrorf(field, "must each have 1 to %d bytes", MaxTagBytes)
		case strings.ContainsFunc(tag, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }):
			return FieldErrorf(field, "%q must contain no comma and no space", tag)
		case slices.Contains(tags[:i], tag):
			return FieldErrorf(field, "contain %q twice", tag)
		}
		if err := CheckText(field, tag); err != nil {
			return err
		}
	}
	return nil
}
