# Writes the rack of this bookie to ZooKeeper as Pulsar's tools do, for clients and autorecovery that read it there.
import json
import os

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from bookkeeper_twisted.metadata.zookeeper.racks import racks_path
from bookkeeper_twisted.metadata.zookeeper.uris import ZooKeeperUri

name, rack = os.environ["POD_NAME"], os.environ["RACK"].strip("/")
if not rack:
    raise SystemExit(f"pod {name} has no label {os.environ['LABEL']}: its bookie would be in no rack")
target = ZooKeeperUri.parse(os.environ["BK_metadataServiceUri"])  # noqa: SIM112 - it is written as in the file
path = racks_path(target.root)
client = KazooClient(target.hosts)
client.start(timeout=60)
written = False
while not written:
    try:
        data, stat = client.get(path)
    except NoNodeError:
        data, stat = b"", None
    groups = json.loads(data or b"{}")
    holders = [each for each in groups.values() if name in each]
    group = holders[0] if holders else groups.setdefault("default", {})
    group[name] = {**group.get(name, {}), "rack": f"/{rack}"}
    new = json.dumps(groups).encode()
    try:
        if stat is None:
            client.create(path, new, makepath=True)
        else:
            client.set(path, new, stat.version)
        written = True
    except (BadVersionError, NodeExistsError):
        pass  # another bookie has written its rack meanwhile
client.stop()
client.close()
print(f"bookie {name} is in rack /{rack}")
