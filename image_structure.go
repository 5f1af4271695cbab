package perdure

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// errImageStructure is the error for an image with an inconsistent structure.
var errImageStructure = errors.New("the image is damaged")

// walkImage reads an image of the given MIME type to its end. It returns an error if the image is cut
// off or its structure is inconsistent. It does not decode pixels, so it needs little memory for an
// image of any size. Data after the image is ignored.
func walkImage(mime string, r *bufio.Reader) error {
	switch mime {
	case "image/png":
		return walkPNG(r)
	case "image/jpeg":
		return walkJPEG(r)
	case "image/gif":
		return walkGIF(r)
	default:
		return walkWebP(r)
	}
}

// walkPNG checks the chunks of a PNG (ISO/IEC 15948) and their checksums, from IHDR to IEND.
func walkPNG(r *bufio.Reader) error {
	if _, err := r.Discard(8); err != nil {
		return err
	}
	if kind, err := pngChunk(r); err != nil || kind != "IHDR" {
		return errors.Join(errImageStructure, err)
	}
	for pixels := false; ; {
		kind, err := pngChunk(r)
		switch {
		case err != nil:
			return err
		case kind == "IDAT":
			pixels = true
		case kind == "IEND" && pixels:
			return nil
		case kind == "IEND":
			return errImageStructure
		}
	}
}

func pngChunk(r *bufio.Reader) (kind string, err error) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", err
	}
	kind, sum := string(head[4:]), crc32.NewIEEE()
	_, _ = sum.Write(head[4:]) // a hash never fails
	if kind == "IHDR" {
		size, err := r.Peek(8)
		if err != nil || binary.BigEndian.Uint32(size) == 0 || binary.BigEndian.Uint32(size[4:]) == 0 {
			return "", errors.Join(errImageStructure, err)
		}
	}
	if _, err := io.CopyN(sum, r, int64(binary.BigEndian.Uint32(head))); err != nil {
		return "", err
	}
	if _, err := io.ReadFull(r, head[:4]); err != nil {
		return "", err
	}
	if binary.BigEndian.Uint32(head) != sum.Sum32() {
		return "", errImageStructure
	}
	return kind, nil
}

// Markers of JPEG (ITU-T T.81).
const (
	jpegFrame = 0xc0 // the first frame header
	jpegDHT   = 0xc4
	jpegJPG   = 0xc8
	jpegDAC   = 0xcc
	jpegRST   = 0xd0 // the first of eight restart markers
	jpegEOI   = 0xd9
	jpegSOS   = 0xda
	jpegTEM   = 0x01
)

// walkJPEG checks the segments of a JPEG up to its end marker.
func walkJPEG(r *bufio.Reader) error {
	if _, err := r.Discard(2); err != nil {
		return err
	}
	framed, scanned := false, false
	for {
		marker, err := jpegMarker(r, scanned)
		if err != nil {
			return err
		}
		switch {
		case marker == jpegEOI && scanned:
			return nil
		case marker == jpegEOI, marker == jpegSOS && !framed:
			return errImageStructure
		case marker == jpegTEM, jpegRST <= marker && marker < jpegRST+8:
			continue
		}
		if err := jpegSegment(r); err != nil {
			return err
		}
		framed = framed || jpegIsFrame(marker)
		scanned = scanned || marker == jpegSOS
	}
}

func jpegIsFrame(marker byte) bool {
	return jpegFrame <= marker && marker < jpegFrame+16 && marker != jpegDHT && marker != jpegJPG && marker != jpegDAC
}

// jpegMarker returns the next marker. If scan is true, it skips the image data before the marker.
func jpegMarker(r *bufio.Reader, scan bool) (byte, error) {
	for {
		skipped, err := r.ReadSlice(0xff)
		if errors.Is(err, bufio.ErrBufferFull) && scan {
			continue
		}
		if err == nil && len(skipped) > 1 && !scan {
			err = errImageStructure
		}
		if err != nil {
			return 0, err
		}
		marker := byte(0xff)
		for marker == 0xff && err == nil { // skips fill bytes
			marker, err = r.ReadByte()
		}
		switch {
		case err != nil:
			return 0, err
		case marker != 0:
			return marker, nil
		case !scan:
			return 0, errImageStructure
		}
	}
}

func jpegSegment(r *bufio.Reader) error {
	length := make([]byte, 2)
	if _, err := io.ReadFull(r, length); err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint16(length))
	if n < len(length) {
		return errImageStructure
	}
	_, err := r.Discard(n - len(length))
	return err
}

// walkGIF checks the blocks of a GIF up to its trailer.
func walkGIF(r *bufio.Reader) error {
	head := make([]byte, 13)
	if _, err := io.ReadFull(r, head); err != nil {
		return err
	}
	if binary.LittleEndian.Uint16(head[6:]) == 0 || binary.LittleEndian.Uint16(head[8:]) == 0 {
		return errImageStructure
	}
	if err := gifColors(r, head[10]); err != nil {
		return err
	}
	for pictured := false; ; {
		block, err := r.ReadByte()
		switch {
		case err != nil:
			return err
		case block == 0x3b && pictured: // trailer
			return nil
		case block == 0x21: // extension
			err = gifExtension(r)
		case block == 0x2c: // image descriptor
			pictured, err = true, gifPicture(r)
		default:
			err = errImageStructure
		}
		if err != nil {
			return err
		}
	}
}

// gifColors skips the color table, if flags say that there is one.
func gifColors(r *bufio.Reader, flags byte) error {
	if flags&0x80 == 0 {
		return nil
	}
	_, err := r.Discard(3 << (flags&7 + 1))
	return err
}

func gifExtension(r *bufio.Reader) error {
	if _, err := r.Discard(1); err != nil {
		return err
	}
	_, err := gifData(r)
	return err
}

func gifPicture(r *bufio.Reader) error {
	descriptor := make([]byte, 9)
	if _, err := io.ReadFull(r, descriptor); err != nil {
		return err
	}
	if err := gifColors(r, descriptor[8]); err != nil {
		return err
	}
	if _, err := r.Discard(1); err != nil { // the code size of LZW
		return err
	}
	n, err := gifData(r)
	if err == nil && n == 0 {
		err = errImageStructure
	}
	return err
}

// gifData skips a series of sub-blocks and returns the number of bytes of data in them.
func gifData(r *bufio.Reader) (int, error) {
	for total := 0; ; {
		n, err := r.ReadByte()
		if err != nil || n == 0 {
			return total, err
		}
		if _, err := r.Discard(int(n)); err != nil {
			return total, err
		}
		total += int(n)
	}
}

// walkWebP checks the chunks of a RIFF container of WebP (RFC 9649).
func walkWebP(r *bufio.Reader) error {
	head := make([]byte, 12)
	if _, err := io.ReadFull(r, head); err != nil {
		return err
	}
	left, pictured := int64(binary.LittleEndian.Uint32(head[4:]))-4, false
	for left > 0 {
		if _, err := io.ReadFull(r, head[:8]); err != nil {
			return err
		}
		size := int64(binary.LittleEndian.Uint32(head[4:]))
		size += size & 1
		if left -= 8 + size; left < 0 {
			return errImageStructure
		}
		if _, err := r.Discard(int(size)); err != nil {
			return err
		}
		switch string(head[:4]) {
		case "VP8 ", "VP8L", "ANMF":
			pictured = pictured || size > 0
		}
	}
	if !pictured {
		return errImageStructure
	}
	return nil
}
