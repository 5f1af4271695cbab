package load

// Piece returns the cut's part of its block's content. The content of a superseded block is
// deleted, but its positions remain.
func (c Cut) Piece(content []byte) []byte {
	if len(content) == 0 {
		return nil
	}
	return content[c.Offset : c.Offset+c.Length]
}
