package dav

import (
	"net/http"
	"strings"

	"holdfast/dav/content"
	"holdfast/lockns"
	"holdfast/store"
)

// listed is a resource as a PROPFIND shows it.
type listed struct {
	store.Entry
	href        string
	displayName string
	kind        listedKind
}

// listedKind tells resources of the store from those that dav makes up.
type listedKind int

const (
	storedResource listedKind = iota
	mountList                 // a read-only collection of mounts
	principalURL              // a user
	uploadResource            // an upload or a piece of one
)

// liveProperty is a property whose value the server knows (RFC 4918 section
// 15). write is called only where has is true; a nil has is always true.
type liveProperty struct {
	space string // "" is DAV:
	name  string
	named bool // left out of allprop
	has   func(*propWriter, *listed) bool
	write func(*propWriter, *listed)
	// settable: PROPPATCH may set it, though not remove it.
	settable bool
}

func (p *liveProperty) xmlName() xmlName {
	if p.space == "" {
		return davName(p.name)
	}
	return xmlName{p.space, p.name}
}

// liveProperties in the order in which allprop lists them. resourcetype comes
// first, since some clients stop reading once they know what they have got.
var liveProperties = []liveProperty{
	{name: "resourcetype", write: (*propWriter).resourceType},
	{name: "displayname", write: func(pw *propWriter, l *listed) { pw.m.text("displayname", l.displayName) }},
	{name: "creationdate", has: hasCreated, write: func(pw *propWriter, l *listed) {
		pw.m.date("creationdate", l.Created, "2006-01-02T15:04:05Z")
	}},
	{name: "getlastmodified", has: hasModified, write: func(pw *propWriter, l *listed) {
		pw.m.date("getlastmodified", l.Modified, http.TimeFormat)
	}},
	{name: "getcontentlength", has: isFile, write: func(pw *propWriter, l *listed) { pw.m.number("getcontentlength", l.Size) }},
	{name: "getcontenttype", has: isFile, write: func(pw *propWriter, l *listed) { pw.m.text("getcontenttype", content.Type(l.ContentType, l.Name)) }},
	{name: "getetag", has: hasETag, write: func(pw *propWriter, l *listed) { pw.m.text("getetag", l.ETag) }},
	{name: "lockdiscovery", has: isStored, write: (*propWriter).lockDiscovery},
	{name: "supportedlock", has: isStored, write: func(pw *propWriter, _ *listed) { pw.m.raw(supportedLock) }},
	{name: "quota-available-bytes", named: true, has: hasQuota, write: func(pw *propWriter, _ *listed) {
		pw.m.number("quota-available-bytes", max(pw.usage.Quota-pw.usage.Used, 0))
	}},
	{name: "quota-used-bytes", named: true, has: isCollection, write: func(pw *propWriter, _ *listed) {
		pw.m.number("quota-used-bytes", pw.usage.Used)
	}},
	{name: "lastmodified", named: true, has: isStored, settable: true, write: func(pw *propWriter, l *listed) {
		pw.m.number("lastmodified", l.Modified.Unix())
	}},
	{space: ocSpace, name: "checksums", named: true, has: isFile, settable: true, write: (*propWriter).checksums},
	{space: ocSpace, name: "permissions", named: true, has: isStored, write: (*propWriter).permissions},
	{name: "supported-method-set", named: true, has: isStored, write: (*propWriter).supportedMethodSet},
	{name: "supported-query-grammar-set", named: true, has: isStored, write: func(pw *propWriter, _ *listed) { pw.m.raw(supportedGrammars) }},
	{name: "supported-report-set", named: true, has: isStored, write: (*propWriter).supportedReportSet},
	{name: "sync-token", named: true, has: isCollection, write: func(pw *propWriter, l *listed) {
		pw.m.text("sync-token", pw.q.syncToken(l.Position()))
	}},
	{name: "current-user-principal", named: true, write: (*propWriter).currentUserPrincipal},
	{name: "principal-URL", named: true, has: isPrincipal, write: func(pw *propWriter, _ *listed) {
		pw.m.raw(`<D:principal-URL>` + pw.q.principalHref() + `</D:principal-URL>`)
	}},
}

// liveByName finds live properties.
var liveByName = func() map[xmlName]*liveProperty {
	byName := map[xmlName]*liveProperty{}
	for i := range liveProperties {
		byName[liveProperties[i].xmlName()] = &liveProperties[i]
	}
	return byName
}()

// supportedLock is the property of every resource (RFC 4918 section 15.10).
const supportedLock = `<D:supportedlock>` +
	`<D:lockentry><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>` +
	`<D:lockentry><D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>` +
	`</D:supportedlock>`

func isStored(_ *propWriter, l *listed) bool     { return l.kind == storedResource }
func isPrincipal(_ *propWriter, l *listed) bool  { return l.kind == principalURL }
func isFile(_ *propWriter, l *listed) bool       { return !l.IsFolder() }
func isCollection(_ *propWriter, l *listed) bool { return l.kind == storedResource && l.IsFolder() }
func hasETag(_ *propWriter, l *listed) bool      { return l.ETag != "" }
func hasCreated(_ *propWriter, l *listed) bool   { return !l.Created.IsZero() }
func hasModified(_ *propWriter, l *listed) bool  { return !l.Modified.IsZero() }

// hasQuota: without a quota nothing is known to be available (RFC 4331 section 3).
func hasQuota(pw *propWriter, l *listed) bool { return isCollection(pw, l) && pw.usage.Quota > 0 }

// isComputed reports whether the server alone knows the value of a property. The
// display name can be given another one (RFC 4918 section 15.2 asks for it): it
// is then stored like a dead property.
func isComputed(name xmlName) bool { return liveByName[name] != nil && name != displayName }

// isProtected reports whether PROPPATCH may not do with a property what it asks.
func isProtected(op propOp) bool {
	return isComputed(op.name) && (op.remove || !liveByName[op.name].settable)
}

var displayName = davName("displayname")

func (pw *propWriter) resourceType(l *listed) {
	switch {
	case l.kind == principalURL:
		pw.m.raw(`<D:resourcetype><D:collection/><D:principal/></D:resourcetype>`)
	case l.IsFolder():
		pw.m.raw(`<D:resourcetype><D:collection/></D:resourcetype>`)
	default:
		pw.m.raw(`<D:resourcetype/>`)
	}
}

// currentUserPrincipal is the property of RFC 5397 section 3: a URL that the
// resource it leads to has in its principal-URL.
func (pw *propWriter) currentUserPrincipal(*listed) {
	pw.m.raw(`<D:current-user-principal>`)
	if pw.q.principal.Anonymous {
		pw.m.raw(`<D:unauthenticated/>`)
	} else {
		pw.m.raw(pw.q.principalHref())
	}
	pw.m.raw(`</D:current-user-principal>`)
}

// principalHref is the element with the URL of the request's user.
func (q *request) principalHref() string {
	return `<D:href>` + q.external() + principalHref(q.principal.Name) + `</D:href>`
}

// principalHref is the URL of a user here.
func principalHref(name string) string {
	return string(appendHref(nil, "/principals", []string{name}, true))
}

func (pw *propWriter) lockDiscovery(l *listed) {
	if len(l.Locks) == 0 {
		pw.m.raw(`<D:lockdiscovery/>`)
		return
	}
	pw.m.raw(`<D:lockdiscovery>`)
	for _, lock := range l.Locks {
		pw.q.writeActiveLock(pw.m, lock)
	}
	pw.m.raw(`</D:lockdiscovery>`)
}

// writeActiveLock writes a lock (RFC 4918 section 14.1). The token is shown to
// its holder only, and only if it opens anything here: to others it would be of
// no use but to spy (section 20.4). Clients take the first text inside an href
// for its value, so there are no blanks.
func (q *request) writeActiveLock(m *multistatus, l lockns.Lock) {
	m.raw(`<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope>`)
	if l.Mode == lockns.Shared {
		m.raw(`<D:shared/>`)
	} else {
		m.raw(`<D:exclusive/>`)
	}
	m.raw(`</D:lockscope><D:depth>`)
	if l.Depth == lockns.Infinity {
		m.raw(`infinity</D:depth>`)
	} else {
		m.raw(`0</D:depth>`)
	}
	q.writeOwner(m, l)
	if l.ExpiresAt.IsZero() {
		m.raw(`<D:timeout>Infinite</D:timeout>`)
	} else {
		m.text("timeout", seconds(l.ExpiresAt.Sub(q.h.opt.Now())))
	}
	if l.Origin == lockns.WebDAV && l.Holder == q.principal.UserID {
		m.raw(`<D:locktoken><D:href>`)
		m.b = appendText(m.b, l.Token)
		m.raw(`</D:href></D:locktoken>`)
	}
	m.raw(`<D:lockroot>`)
	m.text("href", q.mount.lockRoot(l))
	m.raw(`</D:lockroot></D:activelock>`)
}

// writeOwner writes the owner as it was sent, or nothing when none was. A note
// is plain text; a WOPI value is between the editor and the server, since
// whoever sends it opens the lock.
func (q *request) writeOwner(m *multistatus, l lockns.Lock) {
	switch {
	case l.Owner == "":
	case l.Origin == lockns.WebDAV:
		m.raw(`<D:owner>` + l.Owner + `</D:owner>`)
	case l.Origin == lockns.Product:
		m.text("owner", l.Owner)
	}
}

// Windows keeps four properties of its own, and wants them in allprop even
// where no client has set them.
const (
	win32Space     = "urn:schemas-microsoft-com:"
	win32Agent     = "Microsoft-WebDAV-MiniRedir/"
	win32Archive   = "00000020"
	win32Directory = "00000010"
)

var win32Modified = xmlName{win32Space, "Win32LastModifiedTime"}

// stored writes a dead property. The modification time that Windows has set is
// what the resource had until a later change gave it another; then that counts.
func (pw *propWriter) stored(l *listed, p *store.Property) {
	if p.Space == win32Modified.space && p.Local == win32Modified.local {
		if t, ok := win32Time(elementText(p.XML)); ok && t.Unix() != l.Modified.Unix() {
			pw.m.textName(win32Modified, l.Modified.UTC().Format(http.TimeFormat))
			return
		}
	}
	pw.m.raw(p.XML)
}

// win32 writes those of Windows' properties that are not stored.
func (pw *propWriter) win32(l *listed) {
	attributes := win32Archive
	if l.IsFolder() {
		attributes = win32Directory
	}
	for _, p := range []struct{ local, value string }{
		{"Win32CreationTime", l.Created.UTC().Format(http.TimeFormat)},
		{"Win32LastModifiedTime", l.Modified.UTC().Format(http.TimeFormat)},
		{"Win32FileAttributes", attributes},
	} {
		if name := (xmlName{win32Space, p.local}); l.dead(name) == nil {
			pw.m.textName(name, p.value)
		}
	}
}

// dead finds a dead property, nil when it is not stored.
func (l *listed) dead(name xmlName) *store.Property {
	for i := range l.Props {
		if l.Props[i].Local == name.local && l.Props[i].Space == name.space {
			return &l.Props[i]
		}
	}
	return nil
}

// isWindows reports whether the request is from Windows' own client.
func (q *request) isWindows() bool { return strings.HasPrefix(q.r.UserAgent(), win32Agent) }
