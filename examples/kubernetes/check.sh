#!/bin/sh
# Tries Doorway on a real cluster, in a namespace of its own, and cleans up. Without a cluster it says that it was skipped.
#
#   DOORWAY_IMAGE=registry.example.com/doorway:0.1.0 ./check.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)
name=doorway-check

skip() {
	echo "skipped: $1"
	exit 0
}

command -v kubectl >/dev/null 2>&1 || skip "there is no kubectl"
kubectl --request-timeout=5s get --raw /version >/dev/null 2>&1 || skip "kubectl reaches no cluster"
[ -n "${DOORWAY_IMAGE:-}" ] || skip "DOORWAY_IMAGE names no image"
command -v curl >/dev/null 2>&1 || skip "there is no curl"
command -v openssl >/dev/null 2>&1 || skip "there is no openssl"
kubectl get namespace "$name" >/dev/null 2>&1 && skip "the namespace $name is there already"

work=$(mktemp -d)
forward=

clean_up() {
	[ -z "$forward" ] || kill "$forward" 2>/dev/null || true
	kubectl delete namespace "$name" --wait=false >/dev/null 2>&1 || true
	kubectl delete clusterrole,clusterrolebinding "$name-namespace" "$name-classes" >/dev/null 2>&1 || true
	kubectl delete ingressclass "$name" >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap clean_up EXIT INT TERM

fail() {
	echo "failed: $1" >&2
	kubectl -n "$name" logs -l app=doorway --tail=50 >&2 || true
	exit 1
}

# until WHAT COMMAND...: tries for a minute.
until_true() {
	what=$1
	shift
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 60 ] || fail "$what"
		sleep 1
	done
	echo "ok: $what"
}

# The example, under other names, with a class of its own.
cp -R "$here" "$work/base"
sed -i.bak \
	-e "s/publish_service doorway\/doorway/publish_service $name\/doorway\n\t\t\tclass $name\n\t\t\tnamespaces $name/" \
	"$work/base/Caddyfile"
sed -i.bak -e "s/name: doorway-namespace/name: $name-namespace/" -e "s/name: doorway-classes/name: $name-classes/" \
	-e "s/namespace: doorway$/namespace: $name/" "$work/base/rbac.yaml"
sed -i.bak -e "s/name: doorway$/name: $name/" "$work/base/ingressclass.yaml" "$work/base/namespace.yaml"
sed -i.bak -e "s/type: LoadBalancer/type: ClusterIP\n  externalIPs: [\"192.0.2.1\"]/" -e "/externalTrafficPolicy/d" \
	"$work/base/service.yaml"
sed -i.bak -e "s/^namespace: doorway/namespace: $name/" -e "/^images:/,\$d" "$work/base/kustomization.yaml"
printf 'images:\n  - name: doorway\n    newName: %s\n' "${DOORWAY_IMAGE%:*}" >>"$work/base/kustomization.yaml"
case "${DOORWAY_IMAGE##*/}" in
*:*) printf '    newTag: "%s"\n' "${DOORWAY_IMAGE##*:}" >>"$work/base/kustomization.yaml" ;;
esac
kubectl apply -k "$work/base" >/dev/null
kubectl -n "$name" rollout status deployment/doorway --timeout=120s >/dev/null || fail "two replicas are ready"
echo "ok: two replicas are ready"

openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=check.test -addext subjectAltName=DNS:check.test \
	-keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
kubectl -n "$name" create secret tls check --cert="$work/cert.pem" --key="$work/key.pem" >/dev/null

kubectl apply -f - >/dev/null <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: app, namespace: $name}
data:
  Caddyfile: |
    {
    	admin off
    }
    http://:3000 {
    	respond "from the app" 200
    }
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: $name}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
        - name: app
          image: $DOORWAY_IMAGE
          args: ["run", "--config", "/etc/app/Caddyfile"]
          volumeMounts: [{name: config, mountPath: /etc/app}]
      volumes: [{name: config, configMap: {name: app}}]
---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: $name}
spec:
  selector: {app: app}
  ports: [{name: http, port: 80, targetPort: 3000}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: plain, namespace: $name}
spec:
  ingressClassName: $name
  rules:
    - host: plain.test
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: app, port: {name: http}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: secure, namespace: $name}
spec:
  ingressClassName: $name
  tls: [{hosts: [check.test], secretName: check}]
  rules:
    - host: check.test
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: app, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: closed
  namespace: $name
  annotations: {doorway.dev/basic-auth-secret: missing}
spec:
  ingressClassName: $name
  rules:
    - host: plain.test
      http: {paths: [{path: /closed, pathType: Prefix, backend: {service: {name: app, port: {name: http}}}}]}
YAML

kubectl -n "$name" port-forward service/doorway 18080:80 18443:443 >/dev/null 2>&1 &
forward=$!

# status CODE URL-AND-OPTIONS...
status() {
	wanted=$1
	shift
	[ "$(curl -sk -o /dev/null -w '%{http_code}' --max-time 5 "$@")" = "$wanted" ]
}
plain() { status "$1" -H "Host: plain.test" "http://127.0.0.1:18080$2"; }
address() {
	kubectl -n "$name" get ingress plain -o jsonpath='{.status.loadBalancer.ingress[0].ip}' | grep -qx 192.0.2.1
}

until_true "an Ingress is served" plain 200 /
until_true "accounts that are missing close a path" plain 503 /closed
until_true "a certificate of a Secret is used" \
	status 200 --resolve check.test:18443:127.0.0.1 https://check.test:18443/
until_true "the status has the address" address
kubectl -n "$name" scale deployment/app --replicas=0 >/dev/null
until_true "a Service without pods is answered with 503" plain 503 /
kubectl -n "$name" scale deployment/app --replicas=1 >/dev/null
until_true "pods that come back serve again" plain 200 /
kubectl -n "$name" delete ingress closed >/dev/null
until_true "the rules of an Ingress go with it" plain 200 /closed
echo "all checks passed"
