"""A node as users have one: systemd, cgroup v2, the kubelet and containerd with the systemd cgroup driver, the agent as a
service of the host that comes before the kubelet. Runs inside the machine of tests/vm, with an API server beside it; there
are no controllers and no scheduler, as Pods are made for the node that they run on.
"""

import base64
import hashlib
import io
import json
import pathlib
import subprocess
import tarfile
import time

ADDRESS = "10.77.0.11"
SERVER = f"https://{ADDRESS}:6443"
PKI = pathlib.Path("/etc/kubernetes")
PROGRAMS = pathlib.Path("/mnt/programs")
NODE = "node-1"
BUSYBOX, PAUSE = "fairlead.test/busybox:1", "fairlead.test/pause:1"
FAKE = pathlib.Path("/var/lib/fake-node")
SOCKET = "/run/containerd/containerd.sock"
READY = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
LONG = 1800  # seconds: the machine is ten times slower than its host, and works beside others


def tell(text):
    print(f"  {time.clock_gettime(time.CLOCK_BOOTTIME):.0f} s  {text}", flush=True)


def run(*command, check=True, **more):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **more)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def until(what, ask, limit=LONG):
    """The first true answer. For what only asking shows, as the API server's objects and units."""
    end, last = time.monotonic() + limit, None
    while time.monotonic() < end:
        try:
            last = ask()
        except (RuntimeError, OSError, ValueError) as error:
            last = None
            reason = error
        else:
            reason = last
        if last:
            return last
        time.sleep(1)
    raise RuntimeError(f"not within {limit} s: {what}; last: {reason}")


def write(path, text, mode=0o644):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def issue(name, subject, names=""):
    """A key and a certificate of our own authority."""
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", PKI / f"{name}.key"]
    if name == "ca":
        run("openssl", "req", "-x509", *new, "-days", "30", "-subj", subject, "-out", PKI / "ca.crt")
        return
    run("openssl", "req", *new, "-subj", subject, "-out", PKI / f"{name}.csr")
    write(PKI / f"{name}.ext", "extendedKeyUsage=serverAuth,clientAuth\n" + (f"subjectAltName={names}\n" if names else ""))
    run("openssl", "x509", "-req", "-in", PKI / f"{name}.csr", "-CA", PKI / "ca.crt", "-CAkey", PKI / "ca.key", "-CAcreateserial",
        "-days", "30", "-extfile", PKI / f"{name}.ext", "-out", PKI / f"{name}.crt")


def kubeconfig(name, subject):
    issue(name, subject)

    def data(file):
        return base64.b64encode((PKI / file).read_bytes()).decode()

    write(PKI / f"{name}.conf", json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "here"}}],
        "clusters": [{"name": "here", "cluster": {"server": SERVER, "certificate-authority-data": data("ca.crt")}}],
        "users": [{"name": "here", "user": {
            "client-certificate-data": data(f"{name}.crt"), "client-key-data": data(f"{name}.key")}}],
    }), 0o600)


def make_identities():
    PKI.mkdir(parents=True, exist_ok=True)
    issue("ca", "/CN=fairlead-vm")
    issue("apiserver", "/CN=kube-apiserver", f"DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:{ADDRESS},IP:10.96.0.1")
    run("openssl", "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", PKI / "accounts.key")
    run("openssl", "ec", "-in", PKI / "accounts.key", "-pubout", "-out", PKI / "accounts.pub")
    kubeconfig("admin", "/O=system:masters/CN=admin")
    kubeconfig("agent", "/O=system:masters/CN=fairlead-node")
    kubeconfig("kubelet", f"/O=system:nodes/CN=system:node:{NODE}")


KUBELET = f"""apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {{anonymous: {{enabled: false}}, webhook: {{enabled: true}}, x509: {{clientCAFile: {PKI}/ca.crt}}}}
authorization: {{mode: Webhook}}
containerRuntimeEndpoint: unix://{SOCKET}
cgroupDriver: systemd
failSwapOn: false
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
evictionHard:
  memory.available: "0%"
  nodefs.available: "0%"
  nodefs.inodesFree: "0%"
  imagefs.available: "0%"
  imagefs.inodesFree: "0%"
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
resolvConf: ""
nodeStatusUpdateFrequency: 2s
"""

CONTAINERD = f"""version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '{PAUSE}'
[plugins.'io.containerd.cri.v1.runtime']
  enable_cdi = true
  cdi_spec_dirs = ['/etc/cdi', '/var/run/cdi']
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ['/usr/lib/cni']
  conf_dir = '/etc/cni/net.d'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = true
"""

NETWORK = {"cniVersion": "1.0.0", "name": "pods", "plugins": [{
    "type": "bridge", "bridge": "pods", "isGateway": True, "ipMasq": False, "ipam": {
        "type": "host-local", "ranges": [[{"subnet": "10.244.1.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": "/run/cni/addresses"}}]}


def unit(name, command, after="", before="", more=""):
    write(f"/etc/systemd/system/{name}.service", f"""[Unit]
After=network-of-one.service {after}
Before={before}
StartLimitIntervalSec=0
[Service]
ExecStart={command}
Environment=PATH={PROGRAMS}:/usr/sbin:/usr/bin:/sbin:/bin
Restart=always
RestartSec=1
TimeoutStartSec={LONG}
{more}
""")


def make_units(build, topology):
    """Services, the agent's among them: after the driver, before the kubelet."""
    library = build / "tests/fake/libnvidia-ml.so.1"
    fakectl = build / "tests/fake/fakectl"
    root = "/run/nvidia/driver"
    once = "Type=oneshot\nRemainAfterExit=yes\nRestart=no"
    unit("network-of-one", f"/bin/sh -ec 'ip link add lan type bridge; ip addr add {ADDRESS}/24 dev lan; ip link set lan up; "
         "ip route add default via 10.77.0.1'", more=once)
    write("/usr/local/sbin/fake-driver", f"""#!/bin/sh
set -e
{fakectl} up {FAKE} {topology} 1 0
{fakectl} tree {FAKE} {library}
mkdir -p {root}
mountpoint -q {root} || mount --bind {FAKE}/root {root}
""", 0o755)
    unit("fake-driver", "/usr/local/sbin/fake-driver", after="fairlead-disks.service", more=once)
    unit("etcd", f"{PROGRAMS}/etcd --data-dir=/var/lib/etcd --unsafe-no-fsync --log-level=warn "
         "--heartbeat-interval=1000 --election-timeout=10000", after="fairlead-disks.service", more="Nice=-10")
    unit("kube-apiserver", f"""{PROGRAMS}/kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=0.0.0.0 \\
  --advertise-address={ADDRESS} --endpoint-reconciler-type=none --service-cluster-ip-range=10.96.0.0/16 \\
  --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --disable-admission-plugins=ServiceAccount \\
  --allow-privileged=true --client-ca-file={PKI}/ca.crt --tls-cert-file={PKI}/apiserver.crt \\
  --tls-private-key-file={PKI}/apiserver.key --kubelet-preferred-address-types=InternalIP \\
  --kubelet-client-certificate={PKI}/admin.crt --kubelet-client-key={PKI}/admin.key \\
  --shutdown-watch-termination-grace-period=1s \\
  --service-account-issuer=https://kubernetes.default.svc --service-account-key-file={PKI}/accounts.pub \\
  --service-account-signing-key-file={PKI}/accounts.key""", after="etcd.service",
         more="Environment=GOGC=400\nNice=-10")
    unit("containerd", f"{PROGRAMS}/containerd --config=/etc/containerd/config.toml", after="fairlead-disks.service",
         more="Delegate=yes\nKillMode=process\nType=notify")
    agent(build)
    unit("kubelet", f"""{PROGRAMS}/kubelet --config=/etc/kubernetes/kubelet.yaml --kubeconfig={PKI}/kubelet.conf \\
  --hostname-override={NODE} --node-ip={ADDRESS}""", after="containerd.service fairlead-node.service")


def enable():
    """All services start with the machine from now on, each after those that it needs."""
    wants = pathlib.Path("/etc/systemd/system/multi-user.target.wants")
    for name in ("network-of-one", "fake-driver", "etcd", "kube-apiserver", "containerd", "fairlead-node", "kubelet"):
        link = wants / f"{name}.service"
        if not link.is_symlink():
            link.symlink_to(f"../{name}.service")


def agent(build, *flags):
    """The agent's service, with these further flags."""
    root = "/run/nvidia/driver"
    unit("fairlead-node", f"{build}/fairlead node --node-name={NODE} --kubeconfig={PKI}/agent.conf --listen={ADDRESS}:9401 "
         f"--sysfs={root}/sys --proc={root}/proc --unpooled=true --log-format=text {' '.join(flags)}",
         after="fake-driver.service containerd.service", before="kubelet.service")


def add(archive, name, content=b"", **more):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for key, value in more.items():
        setattr(entry, key, value)
    archive.addfile(entry, io.BytesIO(content))


def make_images(path):
    """Busybox, and a pause that is one, as an OCI archive."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        for folder, mode in (("bin", 0o755), ("tmp", 0o1777)):
            add(archive, folder, type=tarfile.DIRTYPE, mode=mode)
        add(archive, "bin/busybox", pathlib.Path("/bin/busybox").read_bytes(), mode=0o755)
        for applet in run("/bin/busybox", "--list").split():
            if applet != "busybox":
                add(archive, f"bin/{applet}", type=tarfile.SYMTYPE, linkname="busybox")
    blobs, manifests = {}, []

    def blob(kind, content):
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    one = blob("layer.v1.tar", layer.getvalue())
    for name, command in ((BUSYBOX, ["/bin/sh"]), (PAUSE, ["/bin/busybox", "tail", "-f", "/dev/null"])):
        config = blob("config.v1+json", json.dumps({
            "architecture": "amd64", "os": "linux",
            "config": {"Cmd": command, "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [one["digest"]]}}).encode())
        manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "config": config, "layers": [one]}
        manifests.append({**blob("manifest.v1+json", json.dumps(manifest).encode()),
                          "annotations": {"io.containerd.image.name": name}})
    with tarfile.open(path, "w") as archive:
        for name, content in blobs.items():
            add(archive, name, content)
        add(archive, "index.json", json.dumps({"schemaVersion": 2, "manifests": manifests}).encode())
        add(archive, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')


# What a machine that is short of time is answered with, and what is then asked again: each call here may be made twice.
BUSY = ("TLS handshake timeout", "Timeout: request", "context deadline exceeded", "connection refused", "i/o timeout",
        "Client.Timeout", "connection lost", "unexpected EOF")


def kubectl(*words, check=True, text=None):
    end = time.monotonic() + LONG
    while True:
        try:
            said = run(PROGRAMS / "kubectl", f"--kubeconfig={PKI}/admin.conf", "--request-timeout=120s", *words, input=text)
        except RuntimeError as error:
            if time.monotonic() < end and any(word in str(error) for word in BUSY):
                time.sleep(2)
                continue
            if check:
                raise
            return str(error)
        return said


def allocatable():
    return kubectl("get", "node", NODE, "-o", r"jsonpath={.status.allocatable.nvidia\.com/gpu}").strip()


def has_gpus(count):
    until(f"{NODE} has {count} GPUs", lambda: allocatable() == str(count))


def pod(name, gpus):
    """A Pod that keeps its GPUs until it is deleted; applied, and running when this returns."""
    kubectl("apply", "--validate=false", "-f", "-", text=json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "nodeName": NODE, "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
            "containers": [{"name": name, "image": BUSYBOX, "imagePullPolicy": "Never", "command": ["sleep", "1000000"],
                            "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]}}))
    runs(name)


def is_ready(name):
    status = json.loads(kubectl("get", "pod", name, "-o", "json"))["status"]
    return status.get("phase") == "Running" and all(each["ready"] for each in status["containerStatuses"])


def shown(service, what):
    return run("systemctl", "show", "--value", "-p", what, service).strip()


def runs(name):
    until(f"Pod {name} runs", lambda: is_ready(name))


def cards(name):
    """Device nodes of GPUs that a Pod's container has."""
    return kubectl("exec", name, "--", "sh", "-c", "cd /dev && ls -d nvidia[0-9]*").split()


def opens(name):
    """What opening a Pod's first GPU is answered with; no device has such a number: a granted one is ENXIO."""
    text = kubectl("exec", name, "--", "sh", "-c", ": <$(ls -d /dev/nvidia[0-9]* | head -n 1)", check=False)
    return "granted" if "No such device" in text else "denied" if "not permitted" in text else text


def set_up(build, topology):
    """From nothing to eight GPUs that a Node has."""
    make_identities()
    write("/etc/kubernetes/kubelet.yaml", KUBELET)
    write("/etc/containerd/config.toml", CONTAINERD)
    write("/etc/cni/net.d/10-pods.conflist", json.dumps(NETWORK))
    make_units(build, topology)
    run("systemctl", "daemon-reload")
    make_images("/tmp/images.tar")
    run("systemctl", "start", "network-of-one", "fake-driver", "containerd", "etcd", "kube-apiserver")
    until("containerd takes images", lambda: run(
        PROGRAMS / "ctr", "-a", SOCKET, "-n", "k8s.io", "images", "import", "--local", "/tmp/images.tar") or True)
    until("the API server is ready", lambda: kubectl("get", "--raw", "/readyz") == "ok")
    tell("the API server is ready")
    run("systemctl", "start", "fairlead-node", "kubelet")
    until(f"{NODE} is Ready", lambda: kubectl("get", "node", NODE, "-o", READY) == "True")
    tell(f"{NODE} is Ready")
    has_gpus(8)
