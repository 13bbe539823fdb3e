package litmus

import (
	"strings"
	"testing"
)

func TestLogTail(t *testing.T) {
	for _, tc := range []struct {
		name   string
		writes []string
		addr   string
		fault  string
	}{
		{"finds the address in slog's text", []string{"time=x level=INFO msg=listening addr=127.0.0.1:4711 tls=false\n"}, "127.0.0.1:4711", ""},
		{"finds the address in a line of two writes", []string{"level=INFO msg=listening ad", "dr=127.0.0.1:1\n"}, "127.0.0.1:1", ""},
		{"waits for the end of the line", []string{"level=INFO msg=listening addr=127.0.0.1:47"}, "", ""},
		{"takes no other line for the address", []string{"level=INFO msg=request addr=127.0.0.1:1\n"}, "", ""},
		{"takes a line of level ERROR for a fault", []string{"level=INFO msg=a\nlevel=ERROR msg=b\nlevel=ERROR msg=c\n"}, "", "level=ERROR msg=b"},
		{"takes a panic for a fault", []string{"panic: runtime error\n\ngoroutine 1\n"}, "", "panic: runtime error"},
		{"takes a data race for a fault", []string{"WARNING: DATA RACE\n"}, "", "WARNING: DATA RACE"},
		{"takes a warning for none", []string{"level=WARN msg=panics?\n"}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLogTail()
			for _, w := range tc.writes {
				if n, err := l.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("Write: %d, %v", n, err)
				}
			}
			addr := ""
			select {
			case addr = <-l.listening:
			default:
			}
			if addr != tc.addr || l.fault() != tc.fault {
				t.Errorf("address %q, fault %q; want %q, %q", addr, l.fault(), tc.addr, tc.fault)
			}
			if got := l.String(); got != strings.Join(tc.writes, "") {
				t.Errorf("kept %q", got)
			}
		})
	}
	t.Run("keeps the end of a long log", func(t *testing.T) {
		l := newLogTail()
		line := strings.Repeat("x", 1023) + "\n"
		for range 2 * maxLog / len(line) {
			l.Write([]byte(line))
		}
		l.Write([]byte("the end\n"))
		if got := l.String(); len(got) > maxLog+maxLog/8 || len(got) < maxLog-1024 || !strings.HasSuffix(got, "\nthe end\n") {
			t.Errorf("kept %d bytes", len(got))
		}
		if got := l.quote(); len(got) > maxQuote+8 || !strings.HasSuffix(got, "\nthe end\n") {
			t.Errorf("quotes %d bytes", len(got))
		}
	})
}

func TestProgramReportsABadStart(t *testing.T) {
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), Options{Path: path, Data: t.TempDir(), Password: testPassword, Args: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("got %v, want what the program says about the flag", err)
	}
}
