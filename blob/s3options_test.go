package blob_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"holdfast/blob"
)

func TestParseS3URL(t *testing.T) {
	tests := []struct {
		url  string
		want blob.S3Options
	}{
		{"s3://s3.example.com/bucket", blob.S3Options{Endpoint: "s3.example.com", Bucket: "bucket"}},
		{"s3://127.0.0.1:9000/my.bucket?insecure=true", blob.S3Options{Endpoint: "127.0.0.1:9000", Bucket: "my.bucket", Insecure: true}},
		{"s3://[::1]:9000/bucket?insecure=1&region=eu-west-1&prefix=a/B_1",
			blob.S3Options{Endpoint: "[::1]:9000", Bucket: "bucket", Insecure: true, Region: "eu-west-1", Prefix: "a/B_1"}},
		{"s3://h/bucket?insecure=false&prefix=a/", blob.S3Options{Endpoint: "h", Bucket: "bucket", Prefix: "a/"}},
	}
	for _, tt := range tests {
		got, err := blob.ParseS3URL(tt.url)
		if err != nil || got != tt.want {
			t.Errorf("ParseS3URL(%q) = %#v, %v", tt.url, got, err)
		}
	}
}

func TestParseS3URLRefuses(t *testing.T) {
	for name, url := range map[string]string{
		"another scheme":      "http://host/bucket",
		"no scheme":           "host/bucket",
		"no host":             "s3:///bucket",
		"opaque":              "s3:host/bucket",
		"no bucket":           "s3://host",
		"empty bucket":        "s3://host/",
		"a path":              "s3://host/bucket/more",
		"invalid bucket":      "s3://host/UPPER",
		"user":                "s3://hunter2@host/bucket",
		"user and password":   "s3://user:hunter2@host/bucket",
		"half a password":     "s3://user:hun/ter2@host/bucket",
		"fragment":            "s3://host/bucket#hunter2",
		"unknown parameter":   "s3://host/bucket?secret=hunter2",
		"parameter twice":     "s3://host/bucket?region=a&region=b",
		"invalid boolean":     "s3://host/bucket?insecure=hunter2",
		"invalid escape":      "s3://host/bucket?prefix=%zz",
		"semicolon":           "s3://host/bucket?prefix=a;region=hunter2",
		"prefix that climbs":  "s3://host/bucket?prefix=a/../b",
		"prefix from root":    "s3://host/bucket?prefix=/a",
		"prefix with a gap":   "s3://host/bucket?prefix=a//b",
		"prefix of one slash": "s3://host/bucket?prefix=/",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := blob.ParseS3URL(url)
			if err == nil || got != (blob.S3Options{}) {
				t.Fatalf("ParseS3URL(%q) = %#v, %v", url, got, err)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "hun") {
				t.Errorf("the error repeats what may be a secret: %v", err)
			}
		})
	}
}

func TestS3OptionsHideTheirSecrets(t *testing.T) {
	o := blob.S3Options{Endpoint: "host", Bucket: "bucket", AccessKey: "hunter1", SecretKey: "hunter2"}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "blobs", o)
	slog.New(slog.NewTextHandler(&log, nil)).Info("start", "blobs", &o)
	for _, text := range []string{log.String(), fmt.Sprintf("%v %+v %#v %s", o, o, o, &o)} {
		if strings.Contains(text, "hunter") || !strings.Contains(text, "s3://host/bucket/") {
			t.Errorf("printed as %s", text)
		}
	}
}
