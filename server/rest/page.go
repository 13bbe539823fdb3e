package rest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
)

// Paging selects a page of a list.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many items the answer has at most."`
	Cursor string `query:"cursor" maxLength:"4096" doc:"Where the page starts: the next of the page before, with the same request otherwise."`
}

// Page is a page of a list.
type Page[D any] struct {
	Items []D    `json:"items"`
	Next  string `json:"next,omitempty" maxLength:"4096" doc:"The cursor of the next page; absent on the last."`
}

// macBytes is how much of a cursor's code is sent.
const macBytes = 16

// listOf names a list for its cursors: whose it is, and everything in the request
// that decides what is in it and in which order.
func listOf(who *Caller, name string, by ...any) string {
	return fmt.Sprintf("%s %d %#v", name, who.User.ID, by)
}

// position reads where a page starts; for the first page it is the zero K. A
// cursor that this server did not make for this list is 400 cursor.invalid.
func position[K any](a *API, list string, cursor string) (at K, err error) {
	if cursor == "" {
		return at, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) < macBytes || !hmac.Equal(data[:macBytes], a.cursorCode(list, data[macBytes:])) ||
		json.Unmarshal(data[macBytes:], &at) != nil {
		return at, problem(http.StatusBadRequest, "cursor.invalid", "the cursor is not of this list")
	}
	return at, nil
}

// cursor makes one for the page that starts behind a position.
func (a *API) cursor(list string, at any) (string, error) {
	data, err := json.Marshal(at)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(a.cursorCode(list, data), data...)), nil
}

// cursorCode ties a position to its list. All processes on one database make the
// same. Nothing but the order of pages rests on it: what a caller may see is asked
// for each page.
func (a *API) cursorCode(list string, position []byte) []byte {
	mac := hmac.New(sha256.New, []byte(a.o.Store.Instance()))
	mac.Write([]byte(list))
	mac.Write([]byte{0})
	mac.Write(position)
	return mac.Sum(nil)[:macBytes]
}

// pageOf shows the first limit of the items of a list, which was asked for one more
// than that: it tells whether there is a next page. at is an item's position.
func pageOf[T, K, D any](a *API, list string, limit int, items []T, at func(T) K, show func(T) D) (page Page[D], err error) {
	if len(items) > limit {
		items = items[:limit]
		if page.Next, err = a.cursor(list, at(items[limit-1])); err != nil {
			return page, err
		}
	}
	page.Items = make([]D, len(items))
	for i, item := range items {
		page.Items[i] = show(item)
	}
	return page, nil
}
