#!/usr/bin/env bash
# Runs the proxies of docs/how-to/proxy.md in front of the server, on this machine only, and checks the forwarded requests.
# PORT is the first of eight ports to use; GRAPHLOOM is the program.
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/how-to/proxy.md
first=${PORT:-9480}
program=${GRAPHLOOM:-target/debug/graphloom}
open_port=$first keyed_port=$((first + 1)) keyless_port=$((first + 2))
nginx_port=$((first + 3)) caddy_port=$((first + 4)) plain_port=$((first + 5)) nginx_keyless_port=$((first + 6))

for tool in nginx caddy; do
    if ! command -v "$tool" >/dev/null && ! [ -x "/usr/sbin/$tool" ]; then
        [ "$(id -u)" = 0 ] || { echo "$tool is missing; install it, or run this as root on Debian" >&2; exit 1; }
        case $tool in nginx) package=nginx-light ;; *) package=$tool ;; esac
        apt-get install -y --no-install-recommends "$package" >/dev/null
    fi
done
PATH=$PATH:/usr/sbin
[ -x "$program" ] || { cargo build --locked --workspace --all-targets; }

work=$(mktemp -d)
started=()
stop() {
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap stop EXIT
start() { "$@" >>"$work/log" 2>&1 & started+=("$!"); }

failed=0
check() { # WHAT EXPECTED ACTUAL
    if [ "$2" = "$3" ]; then echo "ok      $1: $3"; else echo "FAILED  $1: $3, expected $2"; failed=1; fi
}
status() { curl -sk -o /dev/null -w '%{http_code}' --max-time 60 "$@"; }
until_up() {
    for _ in $(seq 600); do
        [ "$(status "$@")" = 000 ] || return 0
        sleep 0.1
    done
    echo "$1 does not answer:" >&2; tail -20 "$work/log" >&2; exit 1
}
# Prints code block number $2 of language $1.
block() { awk -v fence="\`\`\`$1" -v wanted="$2" '$0 == fence { at++; inside = 1; next } /^```$/ { inside = 0 } inside && at == wanted' "$page"; }

openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=rag.example.com -addext subjectAltName=DNS:rag.example.com \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null

# Three servers: with keys behind trusted proxies, without keys behind trusted proxies, and without keys or trusted proxies.
data() { echo "$work/data-$1"; }
"$program" --data-dir "$(data keyed)" key create check --right write >"$work/key"
printf 'correct-horse\n' | "$program" --data-dir "$(data keyed)" user add ada --password-stdin >/dev/null
key=$(grep -o 'glk_[^ ]*' "$work/key" | head -1)
start "$program" --data-dir "$(data keyed)" serve --port "$keyed_port" --trusted-proxy 127.0.0.1
start "$program" --data-dir "$(data keyless)" serve --port "$keyless_port" --trusted-proxy 127.0.0.1
start "$program" --data-dir "$(data open)" serve --port "$open_port"

# nginx: the documented server, with the pages, in front of the server with keys and the open one, and one without any header.
mkdir -p "$work/pages" "$work/nginx"
echo '<p>pages</p>' >"$work/pages/index.html"
site() { # PORT UPSTREAM
    block nginx 1 | sed -e "s|listen 443 ssl|listen 127.0.0.1:$1 ssl|" -e "s|/etc/ssl/certs/rag.example.com.pem|$work/cert.pem|" \
        -e "s|/etc/ssl/private/rag.example.com.key|$work/key.pem|" -e "s|127.0.0.1:9621|127.0.0.1:$2|" |
        sed "s|^    location / {|    $(block nginx 2 | sed -e "s|/srv/lightrag/api/webui/|$work/pages/|")\n&|"
}
{
    echo "daemon off; error_log $work/nginx/error.log; pid $work/nginx/pid; events {}"
    # nginx writes only to the temporary folder; if this runs as root, its workers must be able to read it.
    [ "$(id -u)" != 0 ] || echo 'user root;'
    echo "http { access_log off; types { text/html html; }"
    for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $work/nginx/$kind;"; done
    site "$nginx_port" "$keyed_port"
    site "$nginx_keyless_port" "$keyless_port"
    echo "server { listen 127.0.0.1:$plain_port; location / { proxy_pass http://127.0.0.1:$open_port; } }"
    echo "}"
} >"$work/nginx.conf"
start nginx -e "$work/nginx/error.log" -c "$work/nginx.conf"

# Caddy: the documented site with our certificate instead of its own.
{
    printf '{\n    admin off\n    auto_https disable_redirects\n}\n'
    block caddy 1 | sed -e "s|^rag.example.com {|https://rag.example.com:$caddy_port {\n    bind 127.0.0.1\n    tls $work/cert.pem $work/key.pem|" \
        -e "s|127.0.0.1:9621|127.0.0.1:$keyed_port|"
} >"$work/Caddyfile"
start env XDG_DATA_HOME="$work/caddy" XDG_CONFIG_HOME="$work/caddy" caddy run --adapter caddyfile --config "$work/Caddyfile"

for port in "$keyed_port" "$keyless_port" "$open_port" "$plain_port"; do until_up "http://127.0.0.1:$port/livez"; done
head -c $((50 << 20)) /dev/zero >"$work/large.bin"
head -c $((53 << 20)) /dev/zero >"$work/larger.bin"

through() { # NAME PORT
    local name=$1 url="https://rag.example.com:$2"
    local at=(--resolve "rag.example.com:$2:127.0.0.1")
    until_up "$url/livez" "${at[@]}"
    # Every address of 127.0.0.0/8 is this machine, but only 127.0.0.1 is a trusted proxy, so the others are separate clients.
    from() { local address=$1; shift; status "${at[@]}" --interface "$address" "$@"; }
    login() { from "$1" -d "username=ada&password=$2" "$url/login"; }
    local guesses=''
    for _ in 1 2 3 4 5 6; do guesses+="$(login "127.0.$3.2" wrong) "; done
    check "$name: wrong passwords of one client" '401 401 401 401 401 429 ' "$guesses"
    check "$name: the same client with another X-Forwarded-For" 429 \
        "$(from "127.0.$3.2" -H 'X-Forwarded-For: 198.51.100.9' -d 'username=ada&password=wrong' "$url/login")"
    check "$name: the right password of another client" 200 "$(login "127.0.$3.3" correct-horse)"
    check "$name: a credential" 200 "$(from "127.0.$3.3" -H "X-API-Key: $key" "$url/documents/status_counts")"
    check "$name: no credential" 401 "$(from "127.0.$3.3" "$url/documents/status_counts")"
    check "$name: the prefix of a workspace" 200 "$(from "127.0.$3.3" -H "X-API-Key: $key" "$url/w/default/documents/status_counts")"
    local many
    many=$(for _ in $(seq 60); do from "127.0.$3.4" "$url/documents/status_counts"; echo; done | sort | uniq -c | awk '{print $2}' | tr '\n' ' ')
    check "$name: many requests of a stranger" '401 429 ' "$many"
    check "$name: another stranger meanwhile" 401 "$(from "127.0.$3.5" "$url/documents/status_counts")"
    local began
    began=$(curl -skN --max-time 3 "${at[@]}" -H "X-API-Key: $key" "$url/jobs/events" | grep -c '^event: state' || true)
    check "$name: a stream comes while it is open" 1 "$began"
    # The server rejects this type of file once it has received it; a file that is too large never reaches the server.
    check "$name: a file of 50 MiB arrives" 400 "$(from "127.0.$3.3" -H "X-API-Key: $key" -F "file=@$work/large.bin" "$url/documents/upload")"
    # If a proxy closes the connection while curl still sends, curl may not get the response (000).
    larger=$(from "127.0.$3.3" -H "X-API-Key: $key" -F "file=@$work/larger.bin" "$url/documents/upload") || true
    check "$name: a larger one does not" 413 "${larger/000/413}"
    check "$name: a change from a page of the same origin" 200 \
        "$(from "127.0.$3.3" -H "X-API-Key: $key" -H "Origin: $url" -H 'Content-Type: application/json' -d '{}' "$url/documents/clear_cache")"
}
through nginx "$nginx_port" 1
through caddy "$caddy_port" 2

at=(--resolve "rag.example.com:$nginx_port:127.0.0.1" --resolve "rag.example.com:$nginx_keyless_port:127.0.0.1")
check 'nginx: LightRAG'"'"'s pages beside the API' '<p>pages</p>' "$(curl -sk "${at[@]}" "https://rag.example.com:$nginx_port/webui/")"
keyless="https://127.0.0.1:$nginx_keyless_port/documents/status_counts"
check 'without keys: this machine through a trusted proxy' 200 "$(status --interface 127.0.0.1 "$keyless")"
check 'without keys: another client through a trusted proxy' 403 "$(status --interface 127.0.3.2 "$keyless")"
check 'without keys: through a proxy that says nothing' 403 "$(status "http://127.0.0.1:$plain_port/documents/status_counts")"
direct="http://127.0.0.1:$open_port/documents/status_counts"
check 'without keys: this machine' 200 "$(status "$direct")"
for header in 'X-Forwarded-For: 127.0.0.1' 'Forwarded: for=127.0.0.1' 'X-Real-IP: 127.0.0.1'; do
    check "without keys: passed on ($header)" 403 "$(status -H "$header" "$direct")"
done
echo "answer: $(curl -s "http://127.0.0.1:$plain_port/documents/status_counts")"
exit "$failed"
