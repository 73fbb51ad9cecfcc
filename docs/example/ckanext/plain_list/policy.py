"""The policy: which requests are sent to a URL, and what an answer means."""

from dataclasses import dataclass

from ckanext.freshness.checking.engine import NextStep, check_all
from ckanext.freshness.web.exchange import Body, Request


@dataclass(frozen=True)
class Wanted:
    """A URL to check."""

    url: str


class IsThere:
    """One HEAD for each URL."""

    def __init__(self, client, wanted, target):
        self.wanted = wanted
        self.request = Request(wanted.url, "HEAD")
        self.client, self.target = client, target
        self.asking = None

    def takes(self, other):
        return False

    def begin(self):
        if self.asking is None:
            self.asking = self.client.begin(self.request, lambda answer: Body.SKIP, self.target)
        return self.asking

    async def answered(self, answer, sink):
        sink((self.wanted.url, answer.status == 200))
        return NextStep.END

    def failed(self, error, sink):
        sink((self.wanted.url, False))
        return NextStep.END

    def close(self):
        """Nothing is open."""


async def which_are_there(client, urls):
    found = []
    await check_all(
        [Wanted(url) for url in urls],
        client,
        lambda wanted, host, target: IsThere(client, wanted, target),
        found.append,
    )
    return dict(found)
