"""Lost replicas made again, and checks of all ledgers."""
