package llm

import (
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"github.com/perdure/perdure"
)

// ImageRule says how a model counts the tokens of an image.
type ImageRule string

// ImagesByArea and the constants below it are the rules. In every rule, an image of unknown size
// counts as UnknownImage tokens.
const (
	// ImagesByArea counts width × height / 750 tokens, at most 4,800.
	ImagesByArea ImageRule = "area"
	// ImagesByTiles counts 85 tokens, and 170 more for each tile of 512 × 512 pixels. Before that,
	// the image is scaled down to at most 2,048 × 2,048 pixels, and then to at most 768 pixels on
	// the shorter side. An image whose Detail is low counts 85 tokens.
	ImagesByTiles ImageRule = "tiles"
	// ImagesByLargeTiles counts 258 tokens for each tile of 768 × 768 pixels, at most 4,800. An image
	// of at most 384 × 384 pixels counts 258 tokens.
	ImagesByLargeTiles ImageRule = "large_tiles"
)

// UnknownImage is the assumed number of tokens of an image whose size is not known.
const UnknownImage = 1600

// maxImage is the maximum number of tokens of an image. Models scale larger images down.
const maxImage = 4800

// imagesOf returns the rule for those models of a provider that are not in the table of limits.
func imagesOf(provider string) ImageRule {
	switch provider {
	case "openai", "openai-responses":
		return ImagesByTiles
	case "gemini":
		return ImagesByLargeTiles
	}
	return ImagesByArea
}

// tokens returns the number of tokens of an image.
func (r ImageRule) tokens(p perdure.Part) int {
	if r == ImagesByTiles && p.Detail == "low" {
		return 85
	}
	width, height, known := imageSize(p)
	if !known {
		return UnknownImage
	}
	switch r {
	case ImagesByTiles:
		return 85 + 170*tilesOf512(float64(width), float64(height))
	case ImagesByLargeTiles:
		if width <= 384 && height <= 384 {
			return 258
		}
		return min(258*divUp(width, 768)*divUp(height, 768), maxImage)
	}
	return int(min((int64(width)*int64(height)+749)/750, maxImage))
}

func tilesOf512(width, height float64) int {
	scale := min(1, 2048/max(width, height))
	scale = min(scale, 768/min(width, height))
	return divUp(int(width*scale), 512) * divUp(int(height*scale), 512)
}

func divUp(n, by int) int { return max(1, (n+by-1)/by) }

// imageSize returns the width and the height in pixels of an image with data. It reads only the
// beginning of the data.
func imageSize(p perdure.Part) (width, height int, known bool) {
	if p.Data == "" {
		return 0, 0, false
	}
	data := base64.NewDecoder(base64.StdEncoding, strings.NewReader(p.Data))
	var c image.Config
	var err error
	switch p.MimeType {
	case "image/png":
		c, err = png.DecodeConfig(data)
	case "image/jpeg":
		c, err = jpeg.DecodeConfig(data)
	case "image/gif":
		c, err = gif.DecodeConfig(data)
	case "image/webp":
		c, err = webpConfig(data)
	default:
		return 0, 0, false
	}
	return c.Width, c.Height, err == nil && c.Width > 0 && c.Height > 0
}

// webpConfig returns the size of a WebP image from its first chunk (RFC 9649).
func webpConfig(r io.Reader) (c image.Config, err error) {
	head := make([]byte, 30)
	if _, err := io.ReadFull(r, head); err != nil {
		return c, err
	}
	switch body := head[20:]; string(head[12:16]) {
	case "VP8X":
		c.Width, c.Height = 1+uint24(body[4:]), 1+uint24(body[7:])
	case "VP8 ":
		c.Width = int(binary.LittleEndian.Uint16(body[6:]) & 0x3fff)
		c.Height = int(binary.LittleEndian.Uint16(body[8:]) & 0x3fff)
	case "VP8L":
		size := binary.LittleEndian.Uint32(body[1:])
		c.Width, c.Height = int(1+size&0x3fff), int(1+size>>14&0x3fff)
	}
	return c, nil
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
