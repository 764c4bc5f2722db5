"""What was found good before: an analyser's clean verdict on a file, by the digest of all that it depends on.

Kept in $XDG_CACHE_HOME/fairlead/lint (or $FAIRLEAD_CACHE/lint), one empty file a verdict, for two weeks after its last use. Only
clean verdicts are kept: what was complained about is looked at anew each time. Without a cache all is looked at.
"""

import hashlib
import os
import pathlib
import time

KEPT = 14 * 24 * 3600  # seconds


def folder():
    root = os.environ.get("FAIRLEAD_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(root or pathlib.Path(home) / "fairlead") / "lint"


class Verdicts:
    """The verdicts of one cache; `known` counts those that were there."""

    def __init__(self, place=None):
        self.place = place or folder()
        self.known = 0

    def ask(self, parts, look):
        """(status, output) of look(), or of a former clean one on the same parts: strings, or bytes, or None when what it
        depends on is not known."""
        if parts is None:
            return look()
        digest = hashlib.sha256()
        for part in parts:
            data = part if isinstance(part, bytes) else part.encode()
            digest.update(len(data).to_bytes(8, "big") + data)
        verdict = self.place / digest.hexdigest()
        try:
            os.utime(verdict)
        except OSError:
            status, text = look()
            if status == 0:
                self.keep(verdict)
            return status, text
        self.known += 1
        return 0, ""

    def keep(self, verdict):
        try:
            self.place.mkdir(parents=True, exist_ok=True)
            verdict.touch()
        except OSError:
            pass  # it only costs time

    def forget_old(self):
        try:
            for verdict in self.place.iterdir():
                if verdict.is_file() and time.time() - verdict.stat().st_mtime > KEPT:
                    verdict.unlink()
        except OSError:
            pass  # none there, or another run forgets them as well
