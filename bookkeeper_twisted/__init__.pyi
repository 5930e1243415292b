from .client import AdvLedgerWriter as AdvLedgerWriter
from .client import BookKeeper as BookKeeper
from .client import BookKeeperAdmin as BookKeeperAdmin
from .client import BookKeeperService as BookKeeperService
from .client import ClientMetrics as ClientMetrics
from .client import Confirmed as Confirmed
from .client import EntryBatch as EntryBatch
from .client import LedgerReader as LedgerReader
from .client import LedgerWriter as LedgerWriter
from .client import ThreadAppender as ThreadAppender
from .client import WhenFull as WhenFull
from .config.bookie import BookieConfig as BookieConfig
from .config.client import ClientConfig as ClientConfig
from .embedding import make_bookie as make_bookie
from .embedding import standalone_configs as standalone_configs
from .embedding import temporary_cluster as temporary_cluster
from .errors import BookKeeperError as BookKeeperError
from .model import DigestType as DigestType
from .model import Entry as Entry
from .model import LedgerMetadata as LedgerMetadata
from .model import LedgerState as LedgerState
from .model import WriteFlag as WriteFlag

__version__: str
