package dav

// ocSpace is the namespace of ownCloud's properties. Those here are the ones that
// clients ask for by name in order to compare files and to know what they may do.
const ocSpace = "http://owncloud.org/ns"

var checksumsProperty = xmlName{ocSpace, "checksums"}

// checksums writes what is known of the content of a file.
func (pw *propWriter) checksums(l *listed) {
	pw.m.raw(`<oc:checksums xmlns:oc="` + ocSpace + `">`)
	pw.m.textName(xmlName{ocSpace, "checksum"}, formatChecksums(l.Checksums))
	pw.m.raw(`</oc:checksums>`)
}

// permissions writes what the principal may do with a resource, a letter for each
// ability: G read, D delete, N rename, V move, W write the content of a file, C and
// K create a file or a collection in a collection. The root of a mount stays where
// it is. Nothing here is shared or mounted from elsewhere (S, M) or can be shared
// on (R). Locks are no part of it.
func (pw *propWriter) permissions(l *listed) {
	letters := "G"
	if !pw.q.principal.ReadOnly && !pw.q.readOnly {
		if len(l.Path) > 0 {
			letters += "DNV"
		}
		if l.IsFolder() {
			letters += "CK"
		} else {
			letters += "W"
		}
	}
	pw.m.textName(xmlName{ocSpace, "permissions"}, letters)
}
