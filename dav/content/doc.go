// Package content is what HTTP says of content, whichever door it goes through:
// entity-tags and conditions (RFC 9110 section 13), ranges (section 14), digests
// (RFC 9530), and the media type that a file is served with. It reads headers and
// decides nothing about who may do what.
package content
