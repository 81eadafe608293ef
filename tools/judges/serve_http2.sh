# Serve the files of a directory over HTTP/2 with nghttpd, in the guest: serve_http2.sh DIRECTORY.
# nghttpd writes files to /tmp, which the guest sees read-only: it gets a /tmp of its own, and the site another place.
set -e
cp -r "$1" /run/site
exec unshare --mount sh -c 'mount -t tmpfs none /tmp && cd / &&
    exec nghttpd --htdocs=/run/site/files 8443 /run/site/key.pem /run/site/cert.pem'
