"""The chart for Kubernetes."""

import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from bookkeeper_twisted.cli.options import AutorecoveryOptions, Options

from .chart import CHART, NAME, RENDERED, VALUES, container_of, digest, helm, pod_of, rendered, rendered_by_helm, the

_READY = ["bookkeeper-twisted", "probe", "ready"]
_ALIVE = ["bookkeeper-twisted", "probe", "alive"]


def workloads() -> list[Mapping[str, Any]]:
    """All objects that make pods."""
    return [each for each in rendered() if "template" in each.get("spec", {})]


def settings(container: Mapping[str, Any]) -> dict[str, str]:
    """The keys that a container is given, with their texts."""
    return {each["name"][3:]: each["value"] for each in container["env"] if each["name"].startswith("BK_")}


class HelmTests(SynchronousTestCase):
    """What Helm says."""

    def test_fresh(self) -> None:
        """What the other tests look at was made of the files of the chart."""
        self.assertEqual(json.loads(RENDERED.read_text())["chart"], digest(), "run: python -m tests.deployment")

    def test_rendered(self) -> None:
        """Helm makes it of the chart here, too, and has nothing to say about the chart."""
        self.assertEqual(rendered_by_helm(), rendered())
        done = helm("lint", "--strict")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_schemas(self) -> None:
        """Each object is one that Kubernetes knows, without a field that it does not know."""
        if importlib.util.find_spec("kubernetes_validate") is None:
            raise SkipTest("kubernetes-validate is not installed")
        import kubernetes_validate

        for each in rendered():
            if each["kind"] != "PodMonitor":  # which Kubernetes knows only with Prometheus' operator
                kubernetes_validate.validate(each, "1.34", strict=True)

    def test_refused(self) -> None:
        """Values that cannot be meant are refused: each with its name."""
        refused: Mapping[str, Mapping[str, Any]] = {
            "metadataServiceUri": {},
            "replicas": {"replicas": 0},
            "httpServerHost": {"config": {"httpServerHost": "0.0.0.0"}},
            "persistBookieStatusEnabled": {"config": {"persistBookieStatusEnabled": True}},
            "sizee": {"storage": {"journal": {"sizee": "1Gi"}}},
            "antiAffinity": {"antiAffinity": "never"},
        }
        for name, values in refused.items():
            given = values if name == "metadataServiceUri" else {**VALUES, **values}
            done = helm("template", "bk", values=given)
            self.assertNotEqual(done.returncode, 0, name)
            self.assertIn(name, done.stderr)

    def test_numbers(self) -> None:
        """Large numbers of the configuration stay what they are."""
        values = {**VALUES, "config": {"nettyMaxFrameSizeBytes": 52428800, "journalSyncData": False}}
        bookie = the("StatefulSet", objects=rendered_by_helm(values))
        found = settings(container_of(bookie))
        self.assertEqual((found["nettyMaxFrameSizeBytes"], found["journalSyncData"]), ("52428800", "false"))

    def test_switches(self) -> None:
        """Parts that are switched off are not there; autorecovery runs in the bookies then."""
        off = {
            "autorecovery": {"enabled": False}, "scaleDown": {"check": False, "decommission": False},
            "rack": {"label": ""}, "initialize": False, "podDisruptionBudget": {"enabled": False}, "drain": False,
        }  # fmt: skip
        objects = rendered_by_helm({"metadataServiceUri": VALUES["metadataServiceUri"], **off})
        self.assertEqual([each["kind"] for each in objects], ["Service", "StatefulSet"])
        bookie = container_of(objects[1])
        self.assertEqual(settings(bookie)["autoRecoveryDaemonEnabled"], "true")
        self.assertNotIn("lifecycle", bookie)


class PodTests(SynchronousTestCase):
    """Pods of bookies, of autorecovery and of jobs."""

    def test_security(self) -> None:
        """None runs as root, writes to its image, gains privileges, or has a token of the cluster."""
        self.assertEqual(len(workloads()), 5)
        for each in workloads():
            pod, container = pod_of(each), container_of(each)
            self.assertIs(pod["automountServiceAccountToken"], False)
            self.assertIs(pod["securityContext"]["runAsNonRoot"], True)
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertEqual(
                container["securityContext"],
                {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
            )
            self.assertIn("memory", container["resources"]["limits"])

    def test_user(self) -> None:
        """Their user is that of the image."""
        user = re.search(r"(?m)^USER (\d+)$", (CHART.parents[1] / "Dockerfile").read_text())
        assert user is not None
        self.assertEqual({pod_of(each)["securityContext"]["runAsUser"] for each in workloads()}, {int(user[1])})

    def test_settings(self) -> None:
        """The keys that they are given are keys of ours with values of theirs, and nothing is worth a warning."""
        for kind, options in (("StatefulSet", Options()), ("Deployment", AutorecoveryOptions())):
            container = container_of(the(kind))
            found = settings(container).items()
            options.environ = {f"BK_{key}": value.replace("$(POD_NAME)", f"{NAME}-0") for key, value in found}
            options.parseOptions([])
            config = options.configs[0] if isinstance(options, Options) else options.config
            self.assertEqual(config.warnings, ())
            self.assertEqual(config.http_server_host, "127.0.0.1")
            self.assertTrue(config.serves_metrics_alone)

    def test_identity(self) -> None:
        """A bookie has the name of its pod, which stays, and the address that the headless service gives it."""
        found, service = settings(container_of(the("StatefulSet"))), the("Service")
        self.assertEqual(found["bookieId"], "$(POD_NAME)")
        self.assertEqual(found["advertisedAddress"], f"$(POD_NAME).{NAME}.logs.svc.cluster.local")
        self.assertEqual((service["metadata"]["name"], service["spec"]["clusterIP"]), (NAME, "None"))
        self.assertIs(service["spec"]["publishNotReadyAddresses"], True)
        self.assertEqual(the("StatefulSet")["spec"]["serviceName"], NAME)

    def test_probes(self) -> None:
        """A long replay has its time; what hangs is restarted after a minute; who is not ready says why."""
        for kind in ("StatefulSet", "Deployment"):
            container = container_of(the(kind))
            commands = [container[f"{name}Probe"]["exec"]["command"] for name in ("startup", "readiness", "liveness")]
            self.assertEqual(commands, [_READY, _READY, _ALIVE])
            startup, alive = container["startupProbe"], container["livenessProbe"]
            self.assertGreaterEqual(startup["periodSeconds"] * startup["failureThreshold"], 3600)
            self.assertGreaterEqual(alive["periodSeconds"] * alive["failureThreshold"], 60)
            self.assertTrue(all(container[f"{name}Probe"]["timeoutSeconds"] > 5 for name in ("startup", "liveness")))

    def test_stop(self) -> None:
        """A bookie is drained before it is stopped, and has the time for its checkpoint."""
        pod = pod_of(the("StatefulSet"))
        self.assertGreaterEqual(pod["terminationGracePeriodSeconds"], 120)
        stop = container_of(the("StatefulSet"))["lifecycle"]["preStop"]
        self.assertEqual(stop, {"exec": {"command": ["bookkeeper-twisted", "drain"]}})

    def test_pause(self) -> None:
        """Between two bookies of an update writers have the ten seconds that they need to take the first one back."""
        self.assertGreater(the("StatefulSet")["spec"]["minReadySeconds"], 10)

    def test_rack(self) -> None:
        """The rack of a bookie is the label of its pod, and autorecovery looks where it is written."""
        (rack,) = pod_of(the("StatefulSet"))["initContainers"]
        references = [each for each in rack["env"] if "valueFrom" in each]
        places = {each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"] for each in references}
        self.assertEqual(
            places, {"POD_NAME": "metadata.name", "RACK": "metadata.labels['topology.kubernetes.io/zone']"}
        )
        self.assertEqual(rack["securityContext"], container_of(the("StatefulSet"))["securityContext"])
        resolver = settings(container_of(the("Deployment")))["reppDnsResolverClass"]
        self.assertEqual(resolver, "org.apache.pulsar.zookeeper.ZkBookieRackAffinityMapping")

    def test_apart(self) -> None:
        """No two bookies share a node, and one at a time may be away."""
        (term,) = pod_of(the("StatefulSet"))["affinity"]["podAntiAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        labels = the("StatefulSet")["spec"]["selector"]["matchLabels"]
        chosen = term["topologyKey"], term["labelSelector"]["matchLabels"]
        self.assertEqual(chosen, ("kubernetes.io/hostname", labels))
        budget = the("PodDisruptionBudget")["spec"]
        self.assertEqual((budget["maxUnavailable"], budget["selector"]["matchLabels"]), (1, labels))

    def test_volumes(self) -> None:
        """Journal and ledgers have volumes of their own, which stay."""
        spec = the("StatefulSet")["spec"]
        self.assertEqual([each["metadata"]["name"] for each in spec["volumeClaimTemplates"]], ["journal", "ledgers"])
        self.assertEqual(
            spec["persistentVolumeClaimRetentionPolicy"], {"whenDeleted": "Retain", "whenScaled": "Retain"}
        )
        container = container_of(the("StatefulSet"))
        mounts = {each["mountPath"] for each in container["volumeMounts"]}
        found = settings(container)
        self.assertLessEqual({found["journalDirectories"], found["ledgerDirectories"]}, mounts)

    def test_selected(self) -> None:
        """Services, budgets and monitors select pods that there are, and pods of jobs belong to none."""
        for each in self._selectors():
            chosen = [
                workload["kind"] for workload in workloads()
                if each.items() <= workload["spec"]["template"]["metadata"]["labels"].items()
            ]  # fmt: skip
            if "app.kubernetes.io/component" in each:
                self.assertEqual(chosen, ["StatefulSet"])
        self.assertEqual(len(list(self._selectors())), 3)

    def _selectors(self) -> Iterator[Mapping[str, str]]:
        yield the("Service")["spec"]["selector"]
        yield the("PodDisruptionBudget")["spec"]["selector"]["matchLabels"]
        yield the("PodMonitor")["spec"]["selector"]["matchLabels"]

    def test_hooks(self) -> None:
        """Jobs run at their time, once, and their failure is that of the installation or the upgrade."""
        hooks = {
            each["metadata"]["name"].removeprefix(f"{NAME}-"): each["metadata"]["annotations"]["helm.sh/hook"]
            for each in rendered() if each["kind"] == "Job"
        }  # fmt: skip
        self.assertEqual(
            hooks,
            {
                "initialize": "pre-install", "check-scale-down": "pre-upgrade,pre-rollback",
                "decommission": "post-upgrade,post-rollback",
            },
        )  # fmt: skip
        jobs = [each for each in rendered() if each["kind"] == "Job"]
        self.assertEqual({each["spec"]["backoffLimit"] for each in jobs}, {0})
