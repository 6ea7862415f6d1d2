"""An embedding model behind an endpoint, for the upgrade: each word has a direction of its own, a text is their sum."""

import hashlib
import re
import struct

from embedder import Model

DIMENSIONS = 96


class BagOfWords(Model):
    """The endpoint."""

    def __init__(self):
        super().__init__(dimensions=DIMENSIONS, name="bag-of-words")
        self.directions = {}

    def vector(self, text):
        total = [1e-3] * DIMENSIONS
        for word in re.findall(r"\w+", text.lower()):
            for place, number in enumerate(self._direction(word)):
                total[place] += number
        return total

    def _direction(self, word):
        if word not in self.directions:
            packed = hashlib.shake_256(word.encode()).digest(4 * DIMENSIONS)
            self.directions[word] = [number / 2**31 for number in struct.unpack(f"<{DIMENSIONS}i", packed)]
        return self.directions[word]
