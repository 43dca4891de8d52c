# SPDX-License-Identifier: BSD-2-Clause
"""A registry of container images behind the module: skopeo pushes an image, inspects it, copies it back and deletes it."""
import gzip
import hashlib
import io
import json
import os
import random
import subprocess
import tarfile

import pytest

from lab.lab import Server
from modes import MODES, Runs

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("registry")]
LAYER = 3 << 20
CONFIG = """
version: 0.1
log: {{ level: warn }}
storage:
  filesystem: {{ rootdirectory: {data} }}
  delete: {{ enabled: true }}
http: {{ addr: {address}, relativeurls: true }}
"""


class Registry(Server):
    name = "registry"

    def configure(self):
        os.makedirs(self.path("data"), exist_ok=True)
        self.write("config.yml", CONFIG.format(data=self.path("data"), address=self.address))

    def argv(self):
        return ["/usr/bin/docker-registry", "serve", self.path("config.yml")]


def write_image(folder, seed):
    """An image of one layer as an OCI layout; the digest of its layer."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        data = random.Random(seed).randbytes(LAYER)
        entry = tarfile.TarInfo("data")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    layer = gzip.compress(plain.getvalue(), 1, mtime=0)
    os.makedirs(f"{folder}/blobs/sha256")

    def blob(data, kind):
        digest = hashlib.sha256(data).hexdigest()
        with open(f"{folder}/blobs/sha256/{digest}", "wb") as f:
            f.write(data)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}

    of_layer = blob(layer, "application/vnd.oci.image.layer.v1.tar+gzip")
    config = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(plain.getvalue()).hexdigest()}"]}}
    of_config = blob(json.dumps(config).encode(), "application/vnd.oci.image.config.v1+json")
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": of_config, "layers": [of_layer]}
    of_manifest = {**blob(json.dumps(manifest).encode(), manifest["mediaType"]), "annotations": {"org.opencontainers.image.ref.name": "tag"}}
    for name, value in (("oci-layout", {"imageLayoutVersion": "1.0.0"}), ("index.json", {"schemaVersion": 2, "manifests": [of_manifest]})):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            json.dump(value, f)
    return of_layer["digest"]


@pytest.fixture(scope="module")
def registry(lab):
    server = Registry(lab).start()

    def client(gateway, own):
        saw, here = [], os.path.join(lab.dir, own)
        digest = write_image(f"{here}/image", own)
        subprocess.run(["chown", "-R", "www-data:www-data", here], check=True)
        image = f"docker://{gateway.address}/some/{own}:tag"

        def skopeo(*words):
            # As root it keeps a cache in /var/lib.
            done = subprocess.run(["setpriv", "--reuid=www-data", "--regid=www-data", "--clear-groups", "env", f"HOME={here}", "skopeo", "--insecure-policy", "--tmpdir", here, *words],
                                  cwd=here, capture_output=True, text=True, check=False, timeout=300)
            saw.append((words[0], done.returncode, len(done.stderr.splitlines())))
            return done.stdout

        skopeo("copy", "-q", "--dest-tls-verify=false", f"oci:{here}/image:tag", image)
        said = json.loads(skopeo("inspect", "--tls-verify=false", image))
        saw.append(("layers", said["Layers"] == [digest], said["RepoTags"]))
        skopeo("copy", "-q", "--src-tls-verify=false", image, f"oci:{here}/back:tag")
        with open(f"{here}/back/blobs/sha256/{digest.removeprefix('sha256:')}", "rb") as f:
            saw.append(("the layer", hashlib.sha256(f.read()).hexdigest() == digest.removeprefix("sha256:")))
        # The layer is there already.
        skopeo("copy", "-q", "--dest-tls-verify=false", f"oci:{here}/image:tag", image + "2")
        saw.append(("tags", sorted(json.loads(skopeo("list-tags", "--tls-verify=false", image.rpartition(":")[0]))["Tags"])))
        skopeo("delete", "--tls-verify=false", image)
        skopeo("inspect", "--tls-verify=false", image)
        return saw

    config = f"ProxyPreserveHost On\nRequestHeader set X-Forwarded-Proto http\nProxyPass /v2/ {server.url}/v2/ nocanon\n"
    return Runs(lab, {"config": config}, client)


def test_registry_works_without_the_module(registry):
    assert [came for what, *came in registry.usual if what in ("layers", "the layer", "tags")] == [[True, ["tag"]], [True], [["tag", "tag2"]]]
    assert [code for what, code, _ in (line for line in registry.usual if line[0] == "copy")] == [0, 0, 0]


@pytest.mark.parametrize("mode", MODES)
def test_registry_push_pull_and_delete_in_each_mode_are_as_without_the_module(registry, mode):
    registry.check(mode)
    assert any(r["request"].startswith("PATCH ") for r in registry.requests), "skopeo uploaded nothing"
