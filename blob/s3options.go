package blob

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// S3Options says where a bucket is and how to get in.
type S3Options struct {
	Endpoint  string // HOST or HOST:PORT
	Bucket    string // made when missing
	Region    string // "" asks the engine
	Prefix    string // put before every key, with a slash between; "" for none
	AccessKey string
	SecretKey string
	Insecure  bool // plain HTTP
}

var errS3URL = errors.New("not of the form s3://HOST[:PORT]/BUCKET?region=&insecure=&prefix=")

// ParseS3URL reads s3://HOST[:PORT]/BUCKET?region=&insecure=&prefix=. Unknown and
// repeated parameters are errors. So are credentials: a URL ends up in process
// lists and logs, hence AccessKey and SecretKey are left to the caller. No error
// repeats any of the URL, for the same reason.
func ParseS3URL(raw string) (S3Options, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "s3" || u.Opaque != "" || u.Fragment != "" {
		return S3Options{}, errS3URL
	}
	if u.User != nil {
		return S3Options{}, errors.New("an S3 URL must not hold credentials")
	}
	o := S3Options{Endpoint: u.Host, Bucket: strings.TrimPrefix(u.Path, "/")}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return S3Options{}, errS3URL
	}
	for name, values := range query {
		if len(values) != 1 {
			return S3Options{}, errors.New("an S3 URL must not repeat a parameter")
		}
		if err := o.setParameter(name, values[0]); err != nil {
			return S3Options{}, err
		}
	}
	if err := o.validate(); err != nil {
		return S3Options{}, err
	}
	return o, nil
}

func (o *S3Options) setParameter(name, value string) error {
	switch name {
	case "region":
		o.Region = value
	case "prefix":
		o.Prefix = value
	case "insecure":
		insecure, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("parameter insecure of an S3 URL must be true or false")
		}
		o.Insecure = insecure
	default:
		return errors.New("unknown parameter in S3 URL; known are region, insecure and prefix")
	}
	return nil
}

func (o S3Options) validate() error {
	if o.Endpoint == "" {
		return errors.New("S3 endpoint is missing")
	}
	if err := s3utils.CheckValidBucketNameStrict(o.Bucket); err != nil {
		return fmt.Errorf("S3 bucket: %w", err)
	}
	if strings.ContainsFunc(o.prefix(), notPrefixRune) || strings.Contains("/"+o.prefix(), "//") {
		return errors.New("S3 prefix: only letters, digits, '-', '_' and single inner slashes are allowed")
	}
	return nil
}

func notPrefixRune(r rune) bool {
	return notKeyRune(r) && (r < 'A' || r > 'Z') && r != '_' && r != '/'
}

// prefix is Prefix with exactly one slash at its end, or empty.
func (o S3Options) prefix() string {
	if o.Prefix == "" {
		return ""
	}
	return strings.TrimSuffix(o.Prefix, "/") + "/"
}

// String names the bucket and never the credentials.
func (o S3Options) String() string {
	return fmt.Sprintf("s3://%s/%s/%s", o.Endpoint, o.Bucket, o.prefix())
}

// GoString keeps %#v from showing the credentials.
func (o S3Options) GoString() string { return o.String() }

// LogValue keeps slog's JSON from showing the credentials.
func (o S3Options) LogValue() slog.Value { return slog.StringValue(o.String()) }
