"""One sequence of a model server: its prompt in chunks, then draft blocks of which a part is accepted."""

from engram_client import pb, segment

CHUNK_MAX = 48  # tokens of a prefill chunk
DRAFT = 6  # one sampled token and five drafts
NO_TOKEN = 4_000_000_000  # beyond any vocabulary: ids of an image mean nothing


class Prefix:
    """The beginning that many prompts share: a session on every server."""

    def __init__(self, session_id, tokens):
        self.session_id = session_id
        self.tokens = tokens


class Sequence:
    """Not thread-safe. plan() and take() alternate: a model server knows what to write next from the answer before."""

    def __init__(self, session_id, rng, vocabulary, prefill, decode, prefix=None):
        """`prefill`, `decode`: the replicas where the prompt and the rest run."""
        self.session_id = session_id
        self.rng = rng
        self.vocabulary = vocabulary
        self.replica, self.decode = prefill, decode
        self.seed = {}  # of the next segment
        self.tokens, self.mask = [], []
        if prefix is not None:
            position = rng.randint(1, len(prefix.tokens))
            self.tokens = prefix.tokens[:position]
            self.seed = {"fork_from": pb.ForkFrom(session_id=prefix.session_id, position=position)}
        self.begin = self.accepted = len(self.tokens)  # rows are ours from `begin` on
        self.mask = [1] * self.begin
        self._write_prompt()
        self.prompt = len(self.tokens)
        self.goal = self.prompt + rng.randint(20, 60)
        self.rejected = 0  # drafts
        self.handed_over = False
        self.found = {}  # layer -> [(hash ids, rows) of each accepted position from `begin` on]

    def _write_prompt(self):
        self._extend(self.rng.randint(1, 60), 1)
        if self.rng.random() < 0.5:
            self._extend(self.rng.randint(1, 20), 0)  # an image
            self._extend(self.rng.randint(1, 20), 1)

    def _extend(self, count, live):
        self.tokens += [self.rng.randrange(self.vocabulary) if live else NO_TOKEN for _ in range(count)]
        self.mask += [live] * count

    @property
    def done(self):
        return self.accepted >= self.goal

    def plan(self):
        """The segment of the next forward pass; overwrites what was drafted and rejected."""
        if self.accepted < self.prompt:
            end = min(self.prompt, self.accepted + self.rng.randint(1, CHUNK_MAX))
        else:
            self._extend(DRAFT, 1)
            end = len(self.tokens)
        seed, self.seed = self.seed, {}
        return segment(self.session_id, self.accepted, self.tokens[self.accepted:end], self.mask[self.accepted:end],
                       **seed)

    def take(self, written, values, state):
        """The answer to plan(): {layer: [(hash ids, rows) of each token]} and the state behind its last token.
        Returns the replica where the session is of no use any more, or None."""
        taken = len(written.token_ids)
        if self.accepted >= self.prompt:
            taken = self.rng.randint(1, DRAFT)
            self.rejected += DRAFT - taken
        for layer, of_tokens in values.items():
            self.found.setdefault(layer, []).extend(of_tokens[:taken])
        self.accepted += taken
        if self.accepted > self.prompt:
            del self.tokens[self.accepted:], self.mask[self.accepted:]
        if self.done:
            return self.replica
        if self.accepted == self.prompt and self.decode is not self.replica:
            left, self.replica = self.replica, self.decode
            self.seed = {"state": state}
            self.handed_over = True
            return left
        return None
