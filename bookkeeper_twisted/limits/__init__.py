"""Speed limits of background work, and a clock that measures how long a peer had time to answer.

Theory of operation.  Each background reader or writer has its own limiter (:mod:`.throttle`) and asks it before each
piece of work.  A limiter is a token bucket (:mod:`.ratelimit`).  While clients wait too long for replies, all limiters
of a process are slowed down together (:mod:`.adaptive`).  Deadlines of peers leave out the time in which this process
was held up and did not read from them (:mod:`.attended_time`).
"""
