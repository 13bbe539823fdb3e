package server

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestSize(t *testing.T) {
	for _, c := range []struct {
		text string
		want Size // -1: refused
		form string
	}{
		{"0", 0, "0"},
		{"1000", 1000, "1000"},
		{"16KiB", 16 << 10, "16KiB"},
		{"16 KiB", 16 << 10, "16KiB"},
		{"3MiB", 3 << 20, "3MiB"},
		{"2048MiB", 2 << 30, "2GiB"},
		{"1TiB", 1 << 40, "1TiB"},
		{"8388607TiB", 8388607 << 40, "8388607TiB"},
		{"8388608TiB", -1, ""},
		{"9223372036854775808", -1, ""},
		{"", -1, ""},
		{"KiB", -1, ""},
		{"-1", -1, ""},
		{"+1", -1, ""},
		{"1.5GiB", -1, ""},
		{"5KB", -1, ""},
		{"5kib", -1, ""},
		{"5  KiB", -1, ""},
	} {
		t.Run(c.text, func(t *testing.T) {
			var got Size
			err := got.UnmarshalText([]byte(c.text))
			if (err != nil) != (c.want < 0) {
				t.Fatalf("got %d, %v", got, err)
			}
			if err == nil && (got != c.want || got.String() != c.form) {
				t.Errorf("got %d (%s), want %d (%s)", got, got, c.want, c.form)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration // -1: refused
		form string
	}{
		{"7d", 7 * day, "7d"},
		{"90s", 90 * time.Second, "1m30s"},
		{"48h", 2 * day, "2d"},
		{"0s", 0, "0s"},
		{"-1s", -1, ""},
		{"-1d", -1, ""},
		{"1.5d", -1, ""},
		{"d", -1, ""},
		{"10", -1, ""},
		{"99999d", -1, ""},
	} {
		t.Run(c.text, func(t *testing.T) {
			var got Duration
			err := got.UnmarshalText([]byte(c.text))
			if (err != nil) != (c.want < 0) {
				t.Fatalf("got %s, %v", got, err)
			}
			if err == nil && (time.Duration(got) != c.want || got.String() != c.form) {
				t.Errorf("got %s, want %s", got, c.form)
			}
		})
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	cfg := DefaultConfig()
	cfg.AdminPassword, cfg.S3SecretKey = "hunter2", "hunter2"
	var text strings.Builder
	fmt.Fprintf(&text, "%v %+v %#v %s %q", cfg, cfg, cfg, cfg.AdminPassword, cfg.S3SecretKey)
	slog.New(slog.NewJSONHandler(&text, nil)).Info("x", "password", cfg.AdminPassword)
	if strings.Contains(text.String(), "hunter2") {
		t.Error(text.String())
	}
}
