package content

import (
	"mime"
	"net/http"
	"strings"
)

// Type is the media type of a file: the one stored with it, else that of its
// name's extension. The content is never looked at: a listing would have to open
// every file.
func Type(stored, name string) string {
	if stored != "" {
		return stored
	}
	dot := strings.LastIndexByte(name, '.')
	if t, ok := typesByExtension[strings.ToLower(name[dot+1:])]; ok && dot >= 0 {
		return t
	}
	return Unknown
}

// Unknown is the media type of what nothing is known of (RFC 2046 section 4.5.1).
const Unknown = "application/octet-stream"

// maxTypeBytes bounds the media type kept with a file.
const maxTypeBytes = 255

// SentType is the Content-Type to keep: the one sent, unless it is none.
func SentType(h http.Header) string {
	sent := trimOWS(h.Get("Content-Type"))
	if _, _, err := mime.ParseMediaType(sent); err != nil || len(sent) > maxTypeBytes {
		return ""
	}
	return sent
}

// Identity reports whether the content comes as it is: Content-Encoding names no
// coding.
func Identity(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if coding = trimOWS(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			return false
		}
	}
	return true
}

// typesByExtension is fixed, so that a file has one type wherever the server
// runs.
var typesByExtension = map[string]string{
	"7z": "application/x-7z-compressed", "aac": "audio/aac", "avi": "video/x-msvideo", "avif": "image/avif",
	"bmp": "image/bmp", "bz2": "application/x-bzip2", "css": "text/css; charset=utf-8",
	"csv": "text/csv; charset=utf-8", "doc": "application/msword",
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"dotx": "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
	"eml":  "message/rfc822", "eot": "application/vnd.ms-fontobject", "epub": "application/epub+zip",
	"flac": "audio/flac", "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic",
	"htm": "text/html; charset=utf-8", "html": "text/html; charset=utf-8", "ico": "image/vnd.microsoft.icon",
	"ics": "text/calendar; charset=utf-8", "jpeg": "image/jpeg", "jpg": "image/jpeg",
	"js": "text/javascript; charset=utf-8", "json": "application/json", "jsonl": "application/jsonl",
	"kdbx": "application/x-keepass2", "log": "text/plain; charset=utf-8", "m4a": "audio/mp4", "m4v": "video/mp4",
	"md": "text/markdown; charset=utf-8", "mid": "audio/midi", "mjs": "text/javascript; charset=utf-8",
	"mkv": "video/x-matroska", "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4",
	"mpeg": "video/mpeg", "mpg": "video/mpeg", "odg": "application/vnd.oasis.opendocument.graphics",
	"odp": "application/vnd.oasis.opendocument.presentation",
	"ods": "application/vnd.oasis.opendocument.spreadsheet",
	"odt": "application/vnd.oasis.opendocument.text", "ogg": "audio/ogg", "ogv": "video/ogg", "opus": "audio/ogg",
	"otf": "font/otf", "pdf": "application/pdf", "png": "image/png", "ppt": "application/vnd.ms-powerpoint",
	"pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"ps":   "application/postscript", "rar": "application/vnd.rar", "rtf": "application/rtf",
	"svg": "image/svg+xml", "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff",
	"tsv": "text/tab-separated-values; charset=utf-8", "ttf": "font/ttf", "txt": "text/plain; charset=utf-8",
	"vcf": "text/vcard; charset=utf-8", "wasm": "application/wasm", "wav": "audio/wav", "webm": "video/webm",
	"webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2", "xhtml": "application/xhtml+xml",
	"xls": "application/vnd.ms-excel", "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"xml": "application/xml", "xz": "application/x-xz", "yaml": "application/yaml", "yml": "application/yaml",
	"zip": "application/zip", "zst": "application/zstd",
}
