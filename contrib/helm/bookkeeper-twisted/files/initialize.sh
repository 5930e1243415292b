# The metadata of the cluster are made unless they are there.
bookkeeper-twisted shell initnewcluster || bookkeeper-twisted shell whatisinstanceid
