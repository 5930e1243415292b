"""Plants in the auditor, its election and its checks."""

from .plant import Plant

_AUDITOR = ["tests.autorecovery.auditing.test_auditor"]
_CHECKS = ["tests.autorecovery.auditing.test_ledger_checks"]
_ELECTION = ["tests.metadata.zookeeper.test_auditing", "tests.simulation.world.test_metadata"]
_LEADER = ["tests.metadata.zookeeper.election.test_leader_node"]

PLANTS = (
    Plant(
        "the loss of a bookie is not waited for", "autorecovery/auditing/lost_bookies.py",
        "TRANSITIONS[self.state, loss, self.delay > 0]", "TRANSITIONS[self.state, loss, False]", _AUDITOR,
    ),
    Plant(
        "a bookie that no ledger names ends the delay of another", "autorecovery/auditing/detection.py",
        "            self._bookies.leave_out(unnamed)\n", "", _AUDITOR,
    ),
    Plant(
        "the delay of a lost bookie is what one without ledgers leaves of its own",
        "autorecovery/auditing/lost_bookies.py",
        "            self.pending.difference_update(unnamed)\n            self.state = Detection.CALM\n",
        "            self.pending.difference_update(unnamed)\n", _AUDITOR,
    ),
    Plant(
        "a bookie that was back during the search for its ledgers is left out", "autorecovery/auditing/detection.py",
        "(unnamed | (lost - named)) - self._back", "unnamed | (lost - named)", _AUDITOR,
    ),
    Plant(
        "lost bookies are looked into no more after a search that failed", "autorecovery/auditing/detection.py",
        "            except BookKeeperError as error:\n", "            except ZeroDivisionError as error:\n", _AUDITOR,
    ),
    Plant(
        "a search of all ledgers takes a bookie in its delay for lost", "autorecovery/auditing/bookie_audit.py",
        "if not is_expected(bookie_id)", "if True", _AUDITOR,
    ),
    Plant(
        "a periodic check begins while a lost bookie is waited for", "autorecovery/auditing/periodic.py",
        "        await self._detector.when_calm()\n", "", [*_AUDITOR, *_CHECKS],
    ),
    Plant(
        "a check of all ledgers marks for a bookie in its delay", "autorecovery/auditing/ledger_checks.py",
        "loss.kind is LossKind.GONE and self.is_expected(loss.bookie_id)", "False", _CHECKS,
    ),
    Plant(
        "a bookie that cannot answer has its ledgers marked", "autorecovery/auditing/ledger_checks.py",
        "        if bad:\n", "        bad.update(i.bookie_id for one in report.fragments for i in one.inconclusive)\n"
        "        if bad:\n", _CHECKS,
    ),
    Plant(
        "a check that fails is recorded as done", "autorecovery/auditing/repeating.py",
        "        except BookKeeperError as error:\n", "        except BookKeeperError as error:\n"
        "            return None  # type: ignore\n", _CHECKS,
    ),
    Plant(
        "a check that is cut short is recorded as done", "autorecovery/auditing/repeating.py",
        "        except CancelledError:\n            raise\n", "        except CancelledError:\n"
        "            return None  # type: ignore\n", _AUDITOR,
    ),
    Plant(
        "the first visit that fails does not end a walk", "client/steps.py",
        "        if self._failure is not None:\n            self._failure.raiseException()\n", "",
        [*_AUDITOR, *_CHECKS, "tests.client.test_steps"],
    ),
    Plant(
        "a walk goes on after its auditor was stopped", "client/steps.py",
        "            running.cancel()\n", "            pass\n", [*_AUDITOR, "tests.client.test_steps"],
    ),
    Plant(
        "an auditor out of office goes on", "autorecovery/auditing/auditor.py",
        "            auditor.stop()\n", "            pass\n", _AUDITOR,
    ),
    Plant(
        "a loss during an audit is forgotten", "autorecovery/auditing/detection.py",
        "            self._audit_again = True\n            return\n", "            return\n", _AUDITOR,
    ),
    Plant(
        "marks are made while autorecovery is switched off", "autorecovery/switch.py",
        "        if self.is_on:\n            return", "        if True:\n            return", _AUDITOR,
    ),
    Plant(
        "the loss of an auditor's vote is not noticed", "metadata/zookeeper/election/votes.py",
        'own = await self._znodes.exists(f"{self._path}/{self._vote}", watch)',
        'own = await self._znodes.exists(f"{self._path}/{self._vote}")', _ELECTION,
    ),
    Plant(
        "an auditor whose session has expired stays in office", "metadata/zookeeper/auditing.py",
        "            self._candidacy.lose()\n\n    # -- the office --", "            pass\n\n    # -- the office --", _ELECTION,
    ),
    Plant(
        "an auditor without a connection stays in office", "metadata/zookeeper/election/candidacy.py",
        "        except NotConnectedError:\n            self.lose()\n", "        except NotConnectedError:\n", _ELECTION,
    ),
    Plant(
        "a candidate votes again after a lost answer", "metadata/zookeeper/election/votes.py",
        "        own = await self._own(votes)\n        if not own:", "        own: list[str] = []\n        if not own:",
        _ELECTION,
    ),
    Plant(
        "a cluster of Pulsar gets a second auditor by votes", "metadata/zookeeper/auditing.py",
        "        if self._of_pulsar:\n", "        if False:\n", _LEADER,
    ),
    Plant(
        "a voter takes office beside Pulsar's leader", "metadata/zookeeper/election/votes.py",
        "own is not None and leader is None\n", "own is not None\n", _LEADER,
    ),
    Plant(
        "a leader keeps its node beside a voter", "metadata/zookeeper/election/leader_node.py",
        "        if votes and leads:\n", "        if False:\n", _LEADER,
    ),
    Plant(
        "the loss of the leader's node is not noticed", "metadata/zookeeper/election/leader_node.py",
        "await self._znodes.exists(self._path, watch)", "await self._znodes.exists(self._path)", _LEADER,
    ),
    Plant(
        "a candidate that withdraws ends the office of another", "metadata/zookeeper/election/leader_node.py",
        "if stat is not None and self._owns(stat.owner):", "if stat is not None:", _LEADER,
    ),
)  # fmt: skip
