"""Libraries that call backward and step for the program: Accelerate, DeepSpeed, the Stepper."""
