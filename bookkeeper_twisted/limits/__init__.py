"""Speed limits of background work, and a clock for the time that a peer had for its answer.

Theory of operation.  Each background reader or writer asks a limiter of its own before each piece of work
(:mod:`.throttle`), whose arithmetic is a token bucket that gets the time as an argument (:mod:`.ratelimit`).  All
limiters of a process are slowed down together while clients wait too long (:mod:`.adaptive`).  Deadlines that peers
have to meet leave out the time in which this process did not attend to them (:mod:`.attended_time`).
"""
