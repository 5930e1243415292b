"""The election: an auditor is started when its process wins the office, and stopped when it loses it."""

from collections.abc import Callable

from ...metadata.interfaces import IAuditing
from .auditor import Auditor
from .auditor_metrics import AuditorMetrics


class AuditorElection:
    """Stands for the office of the auditor, again and again, as long as it runs.

    Apache's process ends when its session does.  This one is out of office from that moment, and stands again in the
    next session.

    :param candidate: bookie id under which this process stands.
    :param make_auditor: makes an auditor when the office is won.
    """

    def __init__(
        self, auditing: IAuditing, candidate: str, make_auditor: Callable[[], Auditor], metrics: AuditorMetrics
    ) -> None:
        self._auditing = auditing
        self._candidate = candidate
        self._make_auditor = make_auditor
        self._metrics = metrics
        self._auditor: Auditor | None = None

    @property
    def in_office(self) -> bool:
        """Whether this process has the auditor."""
        return self._auditor is not None

    def start(self) -> None:
        """Stand.

        :raises bookkeeper_twisted.errors.MetadataError: the driver is not open.
        """
        self._auditing.stand(self._candidate, self._elected)

    async def stop(self) -> None:
        """Stop the auditor, and leave the office to the next candidate.

        :raises bookkeeper_twisted.errors.MetadataError: the store fails; the vote goes with the session.
        """
        self._dismiss()
        await self._auditing.withdraw()

    def _elected(self, elected: bool) -> None:
        self._dismiss()
        if elected:
            self._metrics.elections.value += 1
            self._metrics.findings.in_office = 1
            self._auditor = self._make_auditor()
            self._auditor.start()

    def _dismiss(self) -> None:
        self._metrics.findings.in_office = 0
        auditor, self._auditor = self._auditor, None
        if auditor is not None:
            auditor.stop()
