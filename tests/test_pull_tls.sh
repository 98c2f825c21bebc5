#!/bin/sh
# test_pull_tls.sh - facet pull over HTTPS: from a server whose certificate nobody knows only with the certificate at hand.
set -u
grep -q '^FACET_PULL:BOOL=ON' "$FACET_BUILD/CMakeCache.txt" || { echo "SKIP: built without the downloader"; exit 77; }
command -v openssl >/dev/null && python3 -c 'import ssl, http.server' 2>/dev/null || { echo 'SKIP: no openssl, or no python3'; exit 77; }
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
cp -r "$FACET_SOURCE/tests/data/demo/checkpoint" "$work/served"
(cd "$work/served" && sha256sum -- * >SHA256SUMS.part && mv SHA256SUMS.part SHA256SUMS)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=facet-test \
    -addext subjectAltName=IP:127.0.0.1 -keyout "$work/key.pem" -out "$work/ca.pem" 2>/dev/null || exit 77

cat >"$work/serve.py" <<'PYTHON'
import functools, http.server, ssl, sys
folder, certificate, key, port_file = sys.argv[1:]
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(port_file + ".part", "w") as file:
    print(server.server_address[1], file=file)
__import__("os").rename(port_file + ".part", port_file)
server.serve_forever()
PYTHON
python3 "$work/serve.py" "$work/served" "$work/ca.pem" "$work/key.pem" "$work/port" 2>/dev/null &
server=$!
for _ in $(seq 100); do [ -e "$work/port" ] && break; sleep 0.1; done
[ -e "$work/port" ] || { echo "the server does not start"; exit 1; }

unset CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR HF_TOKEN
export no_proxy='*' HOME="$work"
pull() {
    "$FACET" pull "https://127.0.0.1:$(cat "$work/port")/" -o "$work/got" -m "$work/model.facet" --retries 0 2>"$work/told"
}
failed=0
check() { # WHAT, then a command that must hold
    what=$1
    shift
    "$@" && return
    echo "FAILED: $what"
    cat "$work/told"
    failed=1
}

pull
check 'a certificate that nobody signed is refused' [ $? -eq 1 ]
check 'the message says why' grep -qi certificate "$work/told"
check 'nothing came' [ ! -e "$work/got/model.safetensors" ]
for name in CURL_CA_BUNDLE SSL_CERT_FILE; do
    rm -rf "$work/got" "$work/model.facet"
    export "$name=$work/ca.pem"
    pull
    check "with $name it is trusted" [ $? -eq 0 ]
    check 'what came is what was there' cmp "$work/served/model.safetensors" "$work/got/model.safetensors"
    answer=$("$FACET" run -m "$work/model.facet" --quiet --temperature 0 'The capital of France is')
    check "it answers ($answer)" expr "$answer" : '.*Paris' >/dev/null
    unset "$name"
done
exit $failed
