# Waits until nothing needs the bookie that has left, then deletes its cookie; fails if there is no progress.
bookies=$(bookkeeper-twisted shell listbookies -a)
leaving=$(echo "$bookies" | sed -n "s/.*BookieID:$NAME-\([0-9]*\)[,}].*/\1/p" | awk -v n="$REPLICAS" '$1 >= n')
for number in $leaving; do
  # Its pod may still be ending.
  while bookkeeper-twisted shell endpointinfo -b "$NAME-$number" >/dev/null; do
    echo "bookie $NAME-$number has not stopped yet"
    sleep 5
  done
  bookkeeper-twisted shell decommissionbookie -bookieid "$NAME-$number" -force -patience "$PATIENCE"
done
