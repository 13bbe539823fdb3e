package blob_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"holdfast/blob"
	"holdfast/blob/blobtest"
)

// windowed is a store with windows small enough to see.
type windowed struct{ blob.Store }

func (windowed) Window() (first, most int64) { return 4, 16 }

func TestReaderAsksForWindows(t *testing.T) {
	const text = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	tests := []struct {
		name string
		walk string // rN reads N bytes, sN seeks to N
		want string // offset+length of each Open
	}{
		{"nothing is opened to learn the size", "s62 s0", ""},
		{"a short read opens one window", "r3", "0+4"},
		{"sequential reading doubles up to the most", "r62", "0+4 4+8 12+16 28+16 44+16 60+2"},
		{"a seek starts small again", "r62 s10 r5", "0+4 4+8 12+16 28+16 44+16 60+2 10+4 14+8"},
		{"a seek to where it stands opens nothing", "r2 s50 s2 r2", "0+4"},
		{"a seek away and on drops the window", "r1 s2 r1", "0+4 2+4"},
		{"the last window ends with the object", "s61 r1", "61+1"},
		{"past the end nothing is opened", "s70 r1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			store, opens := recordOpens(windowed{newDir(t, blob.DirOptions{})})
			o, err := blob.Write(t.Context(), store, strings.NewReader(text), -1)
			if err != nil {
				t.Fatal(err)
			}
			walk(t, blob.NewReader(t.Context(), store, o.Key, o.Size), text, tt.walk)
			if got := strings.Join(*opens, " "); got != tt.want {
				t.Errorf("opened %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReaderOpensAFolderOnce(t *testing.T) {
	store, opens := recordOpens(newDir(t, blob.DirOptions{}))
	o, err := blob.Write(t.Context(), store, strings.NewReader("0123456789"), -1)
	if err != nil {
		t.Fatal(err)
	}
	walk(t, blob.NewReader(t.Context(), store, o.Key, o.Size), "0123456789", "s10 s2 r3 r3")
	if want := []string{"2+8"}; !slices.Equal(*opens, want) {
		t.Errorf("opened %q, want %q", *opens, want)
	}
}

func TestReaderIsDeadAfterClose(t *testing.T) {
	r := blob.NewReader(t.Context(), newDir(t, blob.DirOptions{}), blob.NewKey(), 10)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	if _, err := r.Read(make([]byte, 1)); err == nil || errors.Is(err, blob.ErrNotExist) {
		t.Errorf("Read after Close = %v, want an error of its own", err)
	}
	if _, err := r.Seek(0, io.SeekStart); err == nil {
		t.Error("Seek after Close has no error")
	}
}

func recordOpens(s blob.Store) (store blob.Store, opens *[]string) {
	opens = new([]string)
	return &blobtest.Fault{Store: s, Before: func(_ context.Context, c blobtest.Call) error {
		if c.Method == blobtest.Open {
			*opens = append(*opens, fmt.Sprintf("%d+%d", c.Offset, c.Length))
		}
		return nil
	}}, opens
}

// walk runs the steps of script on r, an object that holds text, and closes it.
func walk(t *testing.T, r io.ReadSeekCloser, text, script string) {
	t.Helper()
	want := strings.NewReader(text)
	for step := range strings.FieldsSeq(script) {
		var n int64
		if _, err := fmt.Sscanf(step[1:], "%d", &n); err != nil {
			t.Fatal(err)
		}
		if step[0] == 's' {
			_, errA := r.Seek(n, io.SeekStart)
			_, errB := want.Seek(n, io.SeekStart)
			if err := errors.Join(errA, errB); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := io.ReadAll(io.LimitReader(r, n))
		exp, _ := io.ReadAll(io.LimitReader(want, n))
		if err != nil || string(got) != string(exp) {
			t.Errorf("%s: read %q, %v; want %q", step, got, err, exp)
		}
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}
