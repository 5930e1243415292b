"""Speed limits of background work, and a clock that measures how long a peer had time to answer.

Theory of operation.  Each background reader or writer, such as a compaction or a scrub, has its own limiter
(:mod:`.throttle`), and asks it before each piece of work.  A limiter is a token bucket (:mod:`.ratelimit`).  While
clients wait too long for replies, all limiters of a process are slowed down together (:mod:`.adaptive`).  While this
process is held up, it does not read from its peers, so this time does not count towards the deadlines of the peers
(:mod:`.attended_time`).
"""
