# Fails, and so refuses the upgrade, if a bookie would leave that is still needed.
# The bookies of this release are those with its name and a number; those from $REPLICAS on leave.
bookies=$(bookkeeper-twisted shell listbookies -a)
leaving=$(echo "$bookies" | sed -n "s/.*BookieID:$NAME-\([0-9]*\)[,}].*/\1/p" | awk -v n="$REPLICAS" '$1 >= n')
if [ -z "$leaving" ]; then
  echo "no bookie leaves"
  exit 0
fi
if [ "$(echo "$leaving" | wc -l)" -gt 1 ]; then
  echo "refused: bookies" $leaving "of $NAME would leave; let one leave at a time"
  exit 1
fi
marked=$(bookkeeper-twisted shell listunderreplicated -c)
count=$(echo "$marked" | sed -n 's/.*{count=\([0-9]*\)}.*/\1/p')
if [ "$count" != 0 ]; then
  echo "refused: ${count:-an unknown number of} ledgers are under-replicated; bookie $NAME-$leaving cannot leave now"
  exit 1
fi
echo "bookie $NAME-$leaving may leave"
