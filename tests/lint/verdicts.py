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
        return self.ask_all({"": parts}, lambda _: look())

    def ask_all(self, parts, look):
        """The same of several things at once, each name with its parts: look() is given the names that are not known to be
        clean, and their verdict is one."""
        places = {name: each and self.verdict(each) for name, each in parts.items()}
        unknown = [name for name, place in places.items() if not place or not self.has(place)]
        self.known += len(places) - len(unknown)
        if not unknown:
            return 0, ""
        status, text = look(unknown)
        for name in unknown:
            if status == 0 and places[name]:
                self.keep(places[name])
        return status, text

    def verdict(self, parts):
        digest = hashlib.sha256()
        for part in parts:
            data = part if isinstance(part, bytes) else part.encode()
            digest.update(len(data).to_bytes(8, "big") + data)
        return self.place / digest.hexdigest()

    def has(self, verdict):
        try:
            os.utime(verdict)
        except OSError:
            return False
        return True

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
