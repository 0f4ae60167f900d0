"""Certificates that an authority of the test's own has signed, made with openssl."""

import subprocess

KINDS = {"ec": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
         "rsa": ["-newkey", "rsa:2048"]}
EXTENSIONS = """subjectAltName=DNS:{name},IP:127.0.0.1
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth,clientAuth
crlDistributionPoints=URI:http://127.0.0.1/revoked.crl
"""


def openssl(*words):
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 0, done.stderr


class Authority:
    """Files in a folder: `ca` is the authority's certificate."""

    def __init__(self, folder):
        self.folder = folder
        self.ca, self.key = folder / "ca.crt", folder / "ca.key"
        openssl("req", "-x509", *KINDS["ec"], "-nodes", "-days", 600, "-subj", "/CN=Test CA",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-out", self.ca,
                "-keyout", self.key)

    def make(self, kind="ec", name="localhost", days=300):
        """The paths of a certificate and of its key."""
        crt, key, request, extensions = (self.folder / f"{kind}-{name}.{ending}"
                                         for ending in ("crt", "key", "csr", "ext"))
        extensions.write_text(EXTENSIONS.format(name=name), encoding="ascii")
        openssl("req", *KINDS[kind], "-nodes", "-subj", f"/CN={name}", "-keyout", key,
                "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.key,
                "-CAcreateserial", "-days", days, "-extfile", extensions, "-out", crt)
        return str(crt), str(key)
