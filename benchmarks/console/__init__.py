"""What the console costs a browser and a bookie, with a made cluster of a thousand bookies."""
