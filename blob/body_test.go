package blob

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestBodyIsReleasedByFinish(t *testing.T) {
	src := strings.NewReader("0123456789")
	b, err := newBody(t.Context(), src, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(b, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if err := b.finish(nil); !errors.Is(err, errBodyUnread) {
		t.Errorf("finish of an upload that stopped early = %v, want errBodyUnread", err)
	}
	if n, err := b.Read(make([]byte, 4)); n != 0 || !errors.Is(err, errBodyClosed) || src.Len() != 6 {
		t.Errorf("Read after finish = %d, %v with %d bytes left; want errBodyClosed and 6", n, err, src.Len())
	}
}

func TestBodyErrorGoesBeforeTheUploads(t *testing.T) {
	upload := errors.New("upload failed")
	tests := []struct {
		name   string
		src    io.Reader
		upload error
		want   error
	}{
		{"whole body, upload done", strings.NewReader("x"), nil, nil},
		{"whole body, upload failed", strings.NewReader("x"), upload, upload},
		{"end with the last bytes", iotest.DataErrReader(strings.NewReader("x")), nil, nil},
		{"cut body taken for complete", iotest.ErrReader(io.ErrUnexpectedEOF), nil, io.ErrUnexpectedEOF},
		{"cut body, upload failed for it", iotest.ErrReader(io.ErrUnexpectedEOF), upload, io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := newBody(t.Context(), tt.src, -1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(b); err == io.ErrUnexpectedEOF {
				t.Error("a cut source looks like a short last part")
			}
			if err := b.finish(tt.upload); !errors.Is(err, tt.want) {
				t.Errorf("finish = %v, want %v", err, tt.want)
			}
		})
	}
}
