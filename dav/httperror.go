package dav

import "net/http"

// httpError is a request the grammar refuses: the status to answer, the
// precondition or postcondition code of RFC 4918 section 16 when one applies,
// and a sentence for the client. The sentence is written by this package and
// never repeats internal state, so it may be sent as it is.
type httpError struct {
	status    int
	condition string // local name of a DAV: element, "" when none applies
	text      string
}

// Error returns the sentence, or the status text when there is none.
func (e *httpError) Error() string {
	if e.text == "" {
		return http.StatusText(e.status)
	}
	return e.text
}

// errStatus returns an error that answers status with an explanation.
func errStatus(status int, text string) error {
	return &httpError{status: status, text: text}
}

// errCondition returns an error that answers status with a DAV: condition code
// in its error element.
func errCondition(status int, condition, text string) error {
	return &httpError{status: status, condition: condition, text: text}
}

// badRequest is errStatus for the status most grammar failures have.
func badRequest(text string) error {
	return errStatus(http.StatusBadRequest, text)
}
