"""Manual fusion: reading rules, finding the nodes that they name, judging them, and making groups of them."""
