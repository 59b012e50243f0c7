"""What is known of a loss: the weight of each item, its line in the program, who divides it."""
